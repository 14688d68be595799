---@meta
-- Made by streamfmt. The interface that plugins see.

---@class sf
---@field api integer the level of the interface
---@field options table the plugin's options, while it is loaded
sf = {}
sf.item = {}

---Names the plugin and the level of the interface it needs; gives `sf`. When the plugin is loaded anew in the middle of a run (`--watch`), `reload` makes its new ctx.state of the old one; without it session.start comes again.
---@param about {name: string?, version: string?, api: number?, reload: nil|fun(old: table): table}
---@return sf
function sf.plugin(about) end

---Says how the calls and results of tools are told: an exact name, an action such as `@run`, or a glob. Each field of the spec stands for itself.
---@param pattern string
---@param spec sf.ToolSpec
function sf.tool(pattern, spec) end

---Formats items of another kind: prompt, reply, thinking, plan, notice, outcome, record, unknown. A view of `frame` formats each record of the stream as a whole, in place of all its items, repeated ones included; its item has `frame`, `raw` and `line`, and `nil` leaves the record to its items.
---@param what sf.Viewed
---@param fn fun(item: sf.Item, ctx: sf.Context): sf.Answer
function sf.view(what, fn) end

---Sees each item of a kind once, when it is whole; also session.start and session.end. May write ctx.state and give blocks to add after the item.
---@param kind sf.Event
---@param fn fun(item: sf.Item, ctx: sf.Context): sf.Answer
function sf.on(kind, fn) end

---Reads the stream of another agent: objects in, items out. It is chosen by `--from NAME`, or by what `detect` says.
---@param name string
---@param spec sf.DialectSpec
function sf.dialect(name, spec) end

---An output format of its own, on top of one that exists; chosen by `--to NAME`. What it doesn't spell itself the base does.
---@param name string
---@param spec sf.WriterSpec
function sf.writer(name, spec) end

---Folds the JSON records in replies into a state, and says what is shown in their place: chosen by `records = "NAME"` in a profile. Each thread, such as a sub-agent, has a state of its own.
---@param name string
---@param spec sf.RecordsSpec
function sf.records(name, spec) end

---Whether this version has a function of `sf` or a feature.
---@param feature string
---@return boolean
function sf.has(feature) end

---Text as it is: one line, or verbatim lines.
---@param text string
---@param role sf.Role?
---@return sf.Block
function sf.text(text, role) end

---A piece of a line.
---@param text string
---@param role sf.Role?
---@return sf.Span
function sf.span(text, role) end

---One line of texts and spans, with nothing between them.
---@param ... string|sf.Span
---@return sf.Block
function sf.line(...) end

---Markdown.
---@param text string
---@param role sf.Role?
---@return sf.Block
function sf.prose(text, role) end

---Verbatim text, highlighted if its language is known; `start` numbers its lines, `exact` keeps the blanks at its end.
---@param text string
---@param lang string?
---@param opts {start: number?, role: sf.Role?, exact: boolean?}?
---@return sf.Block
function sf.code(text, lang, opts) end

---What changed from one text to another.
---@param old string
---@param new string
---@param opts {path: string?, context: number?}?
---@return sf.Block
function sf.diff(old, new, opts) end

---Changes that are known as hunks, such as result.data.patch.
---@param hunks sf.Hunk[]
---@param opts {path: string?}?
---@return sf.Block
function sf.patch(hunks, opts) end

---Rows and columns.
---@param head any[]?
---@param rows any[][]
---@param opts {title: string?}?
---@return sf.Block
function sf.table(head, rows, opts) end

---Keys and values, one pair a line: a list of pairs, or a table, which is sorted.
---@param pairs table
---@return sf.Block
function sf.kv(pairs) end

---Points: texts, or {text, point = "open", "active", "done" or "failed"}.
---@param items any[]
---@return sf.Block
function sf.list(items) end

---Blocks that may be folded away under a line.
---@param summary string|sf.Span
---@param blocks sf.Answer
---@return sf.Block
function sf.details(summary, blocks) end

---A path, told relative to the session's folder.
---@param path string
---@param role sf.Role?
---@return sf.Span
function sf.path(path, role) end

---A link: an address of http, https, mailto or file behind a text. Where links can't be followed, the address stands behind the text: `text (url)`.
---@param text string
---@param url string
---@param role sf.Role?
---@return sf.Span
function sf.link(text, url, role) end

---A remark with the mark of its level.
---@param level "info"|"warning"|"error"
---@param text string|sf.Span|sf.Block
---@return sf.Block
function sf.note(level, text) end

---The title of a view: the label of the call and what it is about. `mark` names the glyph in front; `false` is none.
---@param call sf.Call?
---@param arg any
---@param opts {mark: string|false|nil}?
---@return sf.Block
function sf.header(call, arg, opts) end

---What a person said.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.prompt(fields) end

---What the agent said.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.reply(fields) end

---What the agent thought.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.thinking(fields) end

---A use of a tool: `tool`, `input`, and what it does as `action`, if the name of the tool doesn't tell.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.call(fields) end

---What came of a call, whose id is `id`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.result(fields) end

---The agent's list of things to do, as `todos`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.plan(fields) end

---Something that the agent's program tells, with `event` and `level`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.notice(fields) end

---How a run ended, with facts such as `turns`, `cost_usd` and `duration_ms`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.outcome(fields) end

---What isn't understood: shown as it is.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.unknown(fields) end

---Lets an item that was made with `open = true` grow by a piece of text, or of its input's JSON.
---@param fields {id: string, text: string}
---@return sf.Made
function sf.item.append(fields) end

---Says that an open item is whole.
---@param fields {id: string, error: boolean?}
---@return sf.Made
function sf.item.close(fields) end

---Says that an open item never happened.
---@param fields {id: string}
---@return sf.Made
function sf.item.drop(fields) end

---Tells facts of the run, as they become known.
---@param fields {agent: string?, version: string?, model: string?, cwd: string?, id: string?, mode: string?}
---@return sf.Made
function sf.item.session(fields) end

---Tells the tokens of a message; the last of a message counts.
---@param fields {message: string?, input: number?, output: number?, cache_read: number?, cache_write: number?}
---@return sf.Made
function sf.item.usage(fields) end

---Masks in all that is written, whoever says it: secrets of known shapes, e-mail addresses, home folders, and patterns of one's own by name. Where a pattern has a group, that alone is masked.
---@param what {secrets: boolean?, emails: boolean?, home: boolean?, patterns: table?}
function sf.redact(what) end

---The JSON text, as written, of a value that was handed over, or of a part of it; nil if there is no such part.
---@param value any
---@param key string|number|nil
---@return string?
function sf.raw(value, key) end

---The beginning of a text, at most so long by a measure, never ending inside a character; and whether something was cut.
---@param text string
---@param most number
---@param unit "bytes"|"utf16"|"characters"|nil
---@return string, boolean
function sf.cut(text, most, unit) end

---Reads JSON into plain tables; nil if it is none.
---@param text string?
---@return any
function sf.json(text) end

---A value as JSON: a table with elements from 1 on is an array, any other one an object with its keys in order. What is no JSON, such as a function, is an error.
---@param value any
---@return string
function sf.json_encode(value) end

---A value as it would be written in Lua, in one line of at most 4,000 characters, to be printed while a plugin is made: `print(sf.inspect(call.input))`.
---@param value any
---@return string
function sf.inspect(value) end

---A regular expression that runs in linear time: test, find, all, replace.
---@param pattern string
---@return sf.Regex
function sf.re(pattern) end

---The last part of a path.
---@param path string
---@return string
function sf.basename(path) end

---The text, cut with an ellipsis to so many characters.
---@param text string
---@param most number
---@return string
function sf.truncate(text, most) end

---The text without the blanks and line feeds around it.
---@param text string
---@return string
function sf.trim(text) end

---The text up to its first line feed.
---@param text string
---@return string
function sf.first_line(text) end

---How many lines a text has; a final line feed begins none.
---@param text string
---@return number
function sf.count_lines(text) end

---`1 file`, `1,234 files`.
---@param count number
---@param one string
---@param many string?
---@return string
function sf.plural(count, one, many) end

---`340ms`, `3.4s`, `1m 42s`.
---@param ms number
---@return string
function sf.duration(ms) end

---`812 B`, `12.3 KB`.
---@param count number
---@return string
function sf.bytes(count) end

---Walks a table in the order of its keys.
---@param table table
---@return fun(): any, any
function sf.sorted(table) end

---What a function is given: read as it is asked for, and good until the function returns.
---@class sf.Item
---@field kind sf.Kind prompt, reply, thinking, call, result, plan, notice, outcome, record or unknown
---@field id string unique within the stream
---@field parent string? the call that it is inside of, if a sub-agent said it
---@field text string its text, as the stream has it
---@field error boolean whether it tells of a failure
---@field status sf.Status open, done, failed or cancelled
---@field data sf.Data typed facts: stdout, stderr, exit, patch, lines, …
---@field line number number of its first line in the stream
---@field time string? when it happened, as the stream tells
---@field raw string? the record that it came with, as written
---@field frame table? the same, read as it is asked for
---@field block table|string|nil the part of a message that it was made from, read as it is asked for
---@field default fun(self): sf.Answer what the layers below say, to wrap or amend; in the function of a result, `call:default()` is what they say of the call

---A use of a tool.
---@class sf.Call: sf.Item
---@field tool string the tool; of an MCP server its own name
---@field name string the tool as the stream names it
---@field server string? the MCP server
---@field action sf.Action run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other
---@field does table what it does it with and to, under the names that all agents share: command, path, changes, …
---@field input sf.Input its input, read as it is asked for; input:table() is a copy, input:raw() the text. While it is being written: what can be read of it
---@field partial boolean whether the input isn't whole: it is being written, or broke off
---@field result sf.Result? always nil: a call is shown before its result is known

---What came of a call.
---@class sf.Result: sf.Item
---@field tool string? the tool
---@field name string? the tool as the stream names it
---@field action sf.Action? what the tool does
---@field took number? milliseconds since the call, where the stream tells both times
---@field call sf.Call? the call that it answers

---What stands around an item, as `ctx`.
---@class sf.Context
---@field session sf.Session the facts of the run
---@field state table what the plugin keeps; only functions of sf.on may write it
---@field options table the plugin's options; while it is loaded they are there as sf.options
---@field page boolean whether the output is a page (`markdown`, `slack`, `html`) instead of lines: for words that differ between the two, not for looks
---@field limits table the profile's limits: result_lines, …

---What is known of the run.
---@class sf.Session
---@field agent string? the agent
---@field version string? the agent's version
---@field model string? the model
---@field cwd string? the folder
---@field id string? the session's id
---@field mode string? the permission mode
---@field usage table tokens so far: input, output, cache_read, cache_write

---What `sf.tool` says; each field stands for itself.
---@class sf.ToolSpec
---@field label? string|fun(call: sf.Call, ctx: sf.Context): any the tool's name as shown: a template or a function
---@field arg? string|fun(input: sf.Input, call: sf.Call, ctx: sf.Context): any the one-line argument: a template, a JSON pointer or a function, which is asked once there is something in the input
---@field summary? string|fun(result: sf.Result, call: sf.Call, ctx: sf.Context): any the one-line summary of a result; a failure keeps its own words, and this stands behind them
---@field call? fun(call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a call: replaces label and arg
---@field result? fun(result: sf.Result, call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a result: replaces summary
---@field icon? string the name of a glyph, or a text in front of the name
---@field role? sf.Role the role of the name
---@field collapse? boolean|"call"|"result"|"both"|"none" whose body is folded away; true is both: of a call and its result one line is left

---What `sf.dialect` says.
---@class sf.DialectSpec
---@field parse fun(object: any, ctx: sf.Context): sf.Made|sf.Made[]|false|nil makes items of one record, which is read as it is asked for; nil keeps it as an unknown item, false hides it. It may write ctx.state
---@field detect? fun(sample: any[], ctx: sf.Context): number|boolean how sure it is, from 0 to 1, that the first records are of its dialect; over 0.5 it goes before the known ones
---@field finish? fun(ctx: sf.Context): sf.Made|sf.Made[]|nil makes items at the end of the input

---What the functions of `sf.item` take. Typed facts, such as `stdout` or `turns`, stand beside these; all are in docs/facts.md.
---@class sf.ItemFields
---@field id? string its id; of a result that of its call. Without one it is called by its line
---@field parent? string the call that it is inside of, if a sub-agent said it
---@field text? string its text
---@field error? boolean whether it tells of a failure
---@field time? string when it happened, in the form of RFC 3339
---@field session? string the id of its session
---@field tool? string on calls: the tool; one of an MCP server is mcp__SERVER__TOOL
---@field action? sf.Action on calls: run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other
---@field input? sf.Input on calls: the input, a table or a part of the record
---@field call? string on results: the id of the call
---@field open? boolean whether it stays open until sf.item.close: it may grow by sf.item.append, and be made anew under its id, which replaces its fields
---@field data? sf.Data typed facts whose names are taken by other fields

---What `sf.writer` says. Each function gives a text; nil leaves the part to the base, false writes nothing.
---@class sf.WriterSpec
---@field base? "text"|"markdown"|"roles" the writer that it stands on
---@field ext? string what the name of a file of it ends in: of pages in a folder (`-o DIR/`), too
---@field log? boolean it is for the log of a CI service: what the base, `w:block` and `w:inlines` write is no command there, wherever it runs, and neither is what is spelled within what the base writes. Only `begin`, `finish` and `entry` may give commands
---@field begin? fun(_: nil, w: sf.Writing): string? what stands before the first entry
---@field finish? fun(_: nil, w: sf.Writing): string? what stands after the last entry
---@field entry? fun(entry: sf.Entry, w: sf.Writing): string|false|nil a whole entry
---@field title? fun(title: sf.Part, w: sf.Writing): string|false|nil the title of an entry, with the entry's kind, tool, action, failed, mark, depth and time
---@field lines? fun(b: sf.Part, w: sf.Writing): string|false|nil lines with roles of their own
---@field prose? fun(b: sf.Part, w: sf.Writing): string|false|nil Markdown
---@field heading? fun(b: sf.Part, w: sf.Writing): string|false|nil a heading of Markdown
---@field code? fun(b: sf.Part, w: sf.Writing): string|false|nil verbatim text, in Markdown too
---@field diff? fun(b: sf.Part, w: sf.Writing): string|false|nil changes of a file
---@field list? fun(b: sf.Part, w: sf.Writing): string|false|nil points
---@field table? fun(b: sf.Part, w: sf.Writing): string|false|nil rows and columns
---@field image? fun(b: sf.Part, w: sf.Writing): string|false|nil a picture that is told of
---@field details? fun(b: sf.Part, w: sf.Writing): string|false|nil something that may be folded
---@field elided? fun(b: sf.Part, w: sf.Writing): string|false|nil what was left out, in lines and bytes
---@field span? {[string]: fun(text: string): string?} how the texts of a role are spelled, in place of the base's own marks; a role without a function has that of its parent

---What `sf.records` says.
---@class sf.RecordsSpec
---@field begin? fun(ctx: sf.Context): any the state before the first record: a table, text or number. Without it, it is an empty table
---@field add fun(state: any, record: table, ctx: sf.Context): any the state with one more record, which is read as it is asked for; `record:table()` is a copy to keep. The state may be changed and returned, or a new one be made. nil or false: the record is none of its own and stays in the text, as does one at which it fails
---@field view fun(state: any, ctx: sf.Context): sf.Answer what is shown of the state in place of the records; it changes nothing. nil: the records as they are; false: nothing. Machine output has the state itself, as sf.json_encode writes it

---What the functions of a writer are given: the table that the block's function makes, such as `text` and `lang` of code; a heading has `level`, a diff `b:unified()`, lines are a list.
---@class sf.Part
---@field type? string which part it is
---@field text? string the text of code, prose and headings
---@field lang? string the language of code
---@field level? number the level of a heading
---@field unified? fun(self): string a diff as `diff -u` writes it

---What helps the functions of a writer, as `w`.
---@class sf.Writing
---@field block fun(self, block: any): string what this writer makes of a block; inside of a function the base spells its like
---@field inlines fun(self, line: any): string the text of a line, a title, a heading or a span, spelled by the functions of span

---What is said of one item, for the `entry` of a writer.
---@class sf.Entry
---@field kind sf.Kind the kind of the item
---@field id string the item's id
---@field parent? string the call that it is inside of
---@field tool? string the tool
---@field action? sf.Action what the tool does
---@field failed boolean whether it tells of a failure
---@field mark? string the name of the glyph in front
---@field depth number how many sub-agents it is inside of
---@field time? string when it happened
---@field title table the title, for w:inlines
---@field blocks table[] what stands under the title
---@field of? table the title of the call that a result belongs to, if that isn't just above

---A piece of a diff.
---@class sf.Hunk
---@field lines string[] the lines, each with +, - or a blank in front
---@field old_start? number number of the first line in the old file
---@field new_start? number number of the first line in the new file

---A regular expression.
---@class sf.Regex
---@field test fun(self, text: string): boolean whether it is found
---@field find fun(self, text: string): table? the first match: [0] the whole, [1] and so on the groups, which also have their names
---@field all fun(self, text: string): table[] all matches
---@field replace fun(self, text: string, with: string): string the text with each match replaced; $1 or ${name} is a group

---a kind of item
---@alias sf.Kind "prompt"|"reply"|"thinking"|"call"|"result"|"plan"|"notice"|"outcome"|"record"|"unknown"

---what sf.view formats
---@alias sf.Viewed "frame"|sf.Kind

---what sf.on listens to
---@alias sf.Event "session.start"|"session.end"|sf.Kind

---what a tool does
---@alias sf.Action "run"|"read"|"write"|"edit"|"search"|"fetch"|"delegate"|"plan"|"ask"|"mcp"|"other"

---where an item is in its life
---@alias sf.Status "open"|"done"|"failed"|"cancelled"

---what a text is; a role of your own goes below a known one
---@alias sf.Role "accent"|"agent"|"agent.1"|"agent.2"|"agent.3"|"agent.4"|"agent.5"|"ask"|"ask.answer"|"ask.option"|"ask.question"|"badge"|"badge.critical"|"badge.info"|"badge.warning"|"call"|"call.arg"|"call.command"|"call.command.program"|"call.command.string"|"call.detail"|"call.input"|"call.key"|"call.note"|"call.value"|"change"|"change.add"|"change.remove"|"code"|"code.number"|"details"|"details.folded"|"details.hidden"|"details.summary"|"diff.add"|"diff.add.word"|"diff.hunk"|"diff.keep"|"diff.number"|"diff.remove"|"diff.remove.word"|"elided"|"error"|"faint"|"id"|"image"|"link"|"list.active"|"list.done"|"list.failed"|"list.open"|"list.plain"|"mark"|"mark.active"|"mark.arrow"|"mark.call"|"mark.column"|"mark.command"|"mark.cross"|"mark.diff-add"|"mark.diff-hunk"|"mark.diff-keep"|"mark.diff-remove"|"mark.done"|"mark.elided"|"mark.error"|"mark.failed"|"mark.image"|"mark.inside"|"mark.nest"|"mark.notice"|"mark.ok"|"mark.open"|"mark.outcome-error"|"mark.outcome-ok"|"mark.output"|"mark.plain"|"mark.plan"|"mark.prompt"|"mark.quote"|"mark.reply"|"mark.result"|"mark.row"|"mark.session"|"mark.thinking"|"mark.totals"|"mark.warning"|"markdown.bar"|"markdown.block"|"markdown.bullet"|"markdown.code"|"markdown.emphasis"|"markdown.heading"|"markdown.heading.1"|"markdown.heading.2"|"markdown.heading.3"|"markdown.heading.4"|"markdown.html"|"markdown.quote"|"markdown.rule"|"markdown.strike"|"markdown.strong"|"markdown.url"|"muted"|"nest"|"notice"|"notice.error"|"notice.info"|"notice.note"|"notice.record"|"notice.text"|"notice.warning"|"ok"|"outcome"|"outcome.error"|"outcome.figure"|"outcome.note"|"outcome.ok"|"outcome.warning"|"path"|"plan"|"plan.note"|"plan.point"|"prompt"|"prompt.task"|"record"|"record.label"|"record.note"|"record.text"|"reply"|"result"|"result.answer"|"result.error"|"result.error.text"|"result.file"|"result.link"|"result.note"|"result.note.of"|"result.ok"|"result.ok.note"|"result.structured"|"result.text"|"session"|"session.date"|"session.folder"|"session.id"|"session.mode"|"session.model"|"session.note"|"session.tool"|"session.version"|"strong"|"syntax.attribute"|"syntax.comment"|"syntax.constant"|"syntax.deleted"|"syntax.function"|"syntax.heading"|"syntax.inserted"|"syntax.invalid"|"syntax.keyword"|"syntax.number"|"syntax.operator"|"syntax.string"|"syntax.tag"|"syntax.type"|"syntax.variable"|"table.border"|"table.head"|"text"|"thinking"|"time"|"tool"|"tool.agent"|"tool.icon"|"tool.name"|"tool.note"|"tool.server"|"unknown"|"warning"|string

---Typed facts, as far as they are known; docs/facts.md has the items they stand on.
---@class sf.Data
---@field added? number Lines that were added, where the change is known line by line.
---@field after? number Tokens after it.
---@field again? boolean True if the call has a result already.
---@field agent? string The sub-agent's id.
---@field agent_type? string What kind of agent it is.
---@field annotations? table Question → {`notes`}: what the user noted beside the answer.
---@field answer? string What a sub-agent, a page or a search answered.
---@field answers? table Question → answer.
---@field api_ms? number Milliseconds spent waiting for the model, over all turns so far.
---@field approved? boolean True if the user approved the plan.
---@field attempt? number Which attempt it is.
---@field background? string Id of the job, if it runs on in the background.
---@field before? number Tokens before it.
---@field block? any The part of the message, if it isn't made as usual.
---@field bytes? number Size in bytes; of a command, that of its whole output.
---@field call? string The id of the call that it is about.
---@field call_count? number How many calls there were, those of sub-agents included.
---@field calls? string[] Ids of the calls without a result, as far as they are listed.
---@field category? string The category of the refusal.
---@field cause? string Why the run failed: `interrupted`, `turns`, `budget`, `structure`, `running`, `blocked` (by a hook).
---@field cell? string The cell of a notebook.
---@field cell_count? number How many cells a notebook has, where only the text has them.
---@field cells? any[] The cells of a notebook.
---@field changed? string What changed since the session notice before, if it is one thing: `mode`.
---@field changes? table[] What was done to each file, where one result names several: as `changes` of what a call does. Of a command: the files that it changed.
---@field code? number The HTTP status.
---@field code_text? string The HTTP status in words.
---@field command? string The command, as its call has it. In the items of machine output alone.
---@field content? string Text of a file, or lines that were found.
---@field cost_usd? number What the run cost in US dollars, over all turns so far.
---@field count? number How many files, pages, damaged records or calls there are.
---@field counted? boolean True if it is one of many, which are counted and not shown.
---@field created? boolean True if the file is new, false if it was there before.
---@field cwd? string The folder that the session works in. Of a command: that of the next one, if the agent's program reset it.
---@field delay_ms? number Milliseconds until the next attempt.
---@field denials? table[] Calls that were refused.
---@field denied? any Of a failure: true if the call was refused, or who refused it.
---@field duration_ms? number Milliseconds from start to end; on an outcome, of its turn.
---@field echo? boolean True if something else reports the same.
---@field edit_mode? string What was done to the cell: `replace`, `insert`, `delete`.
---@field error? string Why it is tried again.
---@field errors? any[] The errors that the agent's program reported.
---@field event? string What the notice is about.
---@field exit? number The code that a hook, or a command that failed, ended with.
---@field explanation? string Why it was refused.
---@field failed_calls? number How many calls failed, those of sub-agents included: on an outcome, since the one before.
---@field fenced? boolean True if the line of the record is in a block of code of its reply.
---@field files? any[] Paths that were found. Of a command: the files that it changed, each with `filePath` and `hunks`; `changes` has them with `path`.
---@field from? string The model before it. Of a message: who sent it.
---@field hits? any[] What a web search found, each with `title` and `url`.
---@field hook_event? string The event that the hook answers.
---@field image? boolean True if the output was a picture.
---@field images? table[] Pictures and documents, never their contents.
---@field incomplete? boolean True if the record lacks only its end.
---@field input? any The input of the call that it is about.
---@field interrupted? boolean True if it was interrupted.
---@field items? string[] Ids of the items that are taken back.
---@field job? table How a job in the background goes.
---@field level? string How serious it is: `info`, `warning` or `error`.
---@field lines? number How many lines were read or found.
---@field listed? boolean True if the text is a line that sums up, then one path a line.
---@field matches? number|any[] How many matches there are, or which.
---@field minor? boolean True if it is of little importance: the detail `compact` leaves it out.
---@field mode? string What was searched for: `files_with_matches`, `content`, `count`. Of a session: its permission mode.
---@field model? string The model.
---@field models? table[] Tokens and cost by model, over all turns so far.
---@field modified? string The file after the change: as the stream has it, else made from the original and the change; absent if the original isn't known.
---@field more? any[] Parts of a result that are neither text nor picture.
---@field more_files? number How many more files the command changed.
---@field name? string Name of the hook.
---@field new_source? string The new source of a cell.
---@field note? string What the agent's program notes on the exit code.
---@field of? number How many attempts are made at most.
---@field old_source? string What the cell held before.
---@field original? string The file before the change.
---@field orphan? boolean True if no call is known.
---@field outcome? string How the hook ended.
---@field output_file? string Where the output is written to.
---@field partial? boolean True if the input isn't whole: it is being written, or broke off.
---@field patch? table[] The change in hunks.
---@field path? string The file or folder; in machine output also of a call that failed or whose result doesn't name it.
---@field persisted? string The file that the whole output is kept in.
---@field plan? string The plan's text.
---@field problems? any[] The errors that are for people, if not all are.
---@field prompts? number How many prompts there were.
---@field query? string What was searched for.
---@field quiet? boolean Deprecated: the same as `minor`.
---@field raw? boolean True if the line was no event.
---@field reason? string Why the run ended, or why something was denied.
---@field redacted? boolean True if its text isn't there.
---@field removed? number Lines that were removed, where the change is known line by line.
---@field repeated? boolean True if the text is that of the last reply.
---@field resets_at? number When the limit ends, in seconds since 1970.
---@field say? string Deprecated: the same as `words`.
---@field server? string The MCP server.
---@field server_side? boolean True if the API ran it.
---@field servers? table[] The session's MCP servers.
---@field session? string The session that what follows belongs to.
---@field skill? string The skill that was used.
---@field snippet? string The changed lines and some around them, numbered, where there is no patch.
---@field start? number Number of the first line that was read, from 1.
---@field state? string How far it is: `completed`, `async_launched`, …
---@field status? number|string Of a retry: the HTTP status. Else the state in words.
---@field stderr? string What was written on standard error.
---@field stdout? string What was written on standard output.
---@field stopped? string How a person stopped the call: `interrupted` while it ran, `rejected` before; `stopped` where the stream doesn't say which.
---@field structured? any The tool's own structured value, if no other fact has it. Of an outcome: an answer that was asked for in a form.
---@field subtype? string What kind it is.
---@field success? boolean Whether it went well. True: that is all that is known, if nothing else is there; false: it came to nothing, though without an error.
---@field task? string|table Of a notice: the task's id. Of a result: the task {`id`, `subject`, `status`}.
---@field tasks? table[] All tasks.
---@field timed_out? boolean True if it was stopped after its time.
---@field timed_out_ms? number Milliseconds after which it was stopped.
---@field to? string The model after it.
---@field todos? table[] The points, as the agent wrote them. The text of a plan is what the agent says of it, if anything.
---@field tokens? number Tokens that the sub-agent used.
---@field took_ms? number Milliseconds that the call took: as the stream tells it, else from the call's time to the result's, where it has both.
---@field tool? string Of a call: the MCP tool without its server. Of a notice: the tool that it is about.
---@field tool_uses? number How many tools the sub-agent used.
---@field tools? string[] Names of the session's tools.
---@field total? number Lines of the whole file, as the agent counts: one more behind a final line feed. Of a search: how many files or lines there are in all.
---@field tree? any Of the record that ends a tree: what is at the top, a list of objects, each with its `record`, and its `children` if there are any. Of an accumulator's: the state that the records came to.
---@field tree_level? number Of a record that is drawn in a tree: how many records stand above it, 0 at the top. It is there when a formatter is asked for the record's node.
---@field trigger? string What set it off.
---@field truncated? boolean True if there is more.
---@field turn? table What this turn alone took, since the outcome before: over all outcomes these figures add up.
---@field turns? number How often the model answered since the prompt. Claude Code up to 1.0 counts all messages so far.
---@field type? string What kind of file: `text`, `image`, `notebook`, `pdf`, `parts`, `unchanged`. Elsewhere the type, in the stream's words; of an unknown item, the one that isn't known.
---@field url? string The address. Of a sub-agent that runs elsewhere: where it can be watched.
---@field usage? table Tokens: of the turn from Claude Code, over all turns so far from Codex; in `turn` of the turn.
---@field user_modified? boolean True if a person changed what was proposed, before it was done.
---@field utilization? number The part of the limit that is used up.
---@field value? any The event as it came. Of a record: the object as it was written.
---@field version? string Version of the agent's program.
---@field words? string What of the text is for people, without what the agent's program put around it.
---@field [string] any

---A call's input, as the tool takes it: what common tools have is named, and may be of another type all the same.
---@class sf.Input
---@field table fun(self): table
---@field raw fun(self): string
---@field command? string
---@field description? string
---@field file_path? string
---@field path? string
---@field pattern? string
---@field glob? string
---@field url? string
---@field query? string
---@field prompt? string
---@field content? string
---@field old_string? string
---@field new_string? string
---@field offset? number
---@field limit? number
---@field subagent_type? string
---@field todos? table[]
---@field [string] any

---nil: the layer below decides; false: nothing is shown
---@alias sf.Answer nil|false|string|sf.Span|sf.Block|sf.Answer[]
---@class sf.Span
---@field type string
---@class sf.Block
---@field type string
---@class sf.Made
---@field type string
