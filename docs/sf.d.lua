---@meta
-- Made by streamfmt. The interface that plugins see.

---@class sf
---@field api integer the level of the interface
---@field options table the plugin's options, while it is loaded
sf = {}
sf.item = {}

---Declares the name of the plugin and the API level it needs; returns `sf`. When the plugin is reloaded during a run (`--watch`), `reload` converts the old ctx.state to the new one; without `reload`, session.start is called again.
---@param about {name: string?, version: string?, api: number?, reload: nil|fun(old: table): table}
---@return sf
function sf.plugin(about) end

---Formats the calls and results of tools. `pattern` is an exact name, an action such as `@run`, or a glob. All fields of the spec are optional and independent.
---@param pattern string
---@param spec sf.ToolSpec
function sf.tool(pattern, spec) end

---Formats items of another kind: prompt, reply, thinking, plan, notice, outcome, record, unknown. A view of `frame` formats each record of the stream as a whole, including repeated ones, and replaces all its items; its item has `frame`, `raw` and `line`. If it returns `nil`, the items are formatted as usual.
---@param what sf.Viewed
---@param fn fun(item: sf.Item, ctx: sf.Context): sf.Answer
function sf.view(what, fn) end

---Calls the function once for each complete item of a kind, or at session.start or session.end. The function may write ctx.state and return blocks to add after the item.
---@param kind sf.Event
---@param fn fun(item: sf.Item, ctx: sf.Context): sf.Answer
function sf.on(kind, fn) end

---Adds a dialect: converts the records of another agent's stream into items. Selected with `--from NAME`, or by `detect`.
---@param name string
---@param spec sf.DialectSpec
function sf.dialect(name, spec) end

---Adds an output format based on an existing one; selected with `--to NAME`. The base writes every part that the format doesn't define.
---@param name string
---@param spec sf.WriterSpec
function sf.writer(name, spec) end

---Folds the JSON records in replies into a state and shows a view of it in their place; selected with `records = "NAME"` in a profile. The main agent and each sub-agent have separate states.
---@param name string
---@param spec sf.RecordsSpec
function sf.records(name, spec) end

---Whether this version has a feature or a function of `sf`.
---@param feature string
---@return boolean
function sf.has(feature) end

---Plain text, shown verbatim: one or more lines.
---@param text string
---@param role sf.Role?
---@return sf.Block
function sf.text(text, role) end

---A span: part of a line with a role.
---@param text string
---@param role sf.Role?
---@return sf.Span
function sf.span(text, role) end

---One line of strings and spans, joined without separators.
---@param ... string|sf.Span
---@return sf.Block
function sf.line(...) end

---Markdown text.
---@param text string
---@param role sf.Role?
---@return sf.Block
function sf.prose(text, role) end

---Verbatim text, highlighted if the language is known. `start` is the number of the first line and turns numbering on; `exact` keeps trailing whitespace.
---@param text string
---@param lang string?
---@param opts {start: number?, role: sf.Role?, exact: boolean?}?
---@return sf.Block
function sf.code(text, lang, opts) end

---The differences between two texts.
---@param old string
---@param new string
---@param opts {path: string?, context: number?}?
---@return sf.Block
function sf.diff(old, new, opts) end

---A diff from existing hunks, such as result.data.patch.
---@param hunks sf.Hunk[]
---@param opts {path: string?}?
---@return sf.Block
function sf.patch(hunks, opts) end

---A table.
---@param head any[]?
---@param rows any[][]
---@param opts {title: string?}?
---@return sf.Block
function sf.table(head, rows, opts) end

---Keys and values, one pair per line. `pairs` is a list of pairs, or a table, which is sorted by key.
---@param pairs table
---@return sf.Block
function sf.kv(pairs) end

---A list. Items are strings, or {text, point = "open", "active", "done" or "failed"}.
---@param items any[]
---@return sf.Block
function sf.list(items) end

---Blocks that can be folded, with a summary line.
---@param summary string|sf.Span
---@param blocks sf.Answer
---@return sf.Block
function sf.details(summary, blocks) end

---A path, shown relative to the session's folder.
---@param path string
---@param role sf.Role?
---@return sf.Span
function sf.path(path, role) end

---A link to an http, https, mailto or file URL. Where the output doesn't support links, it is written as `text (url)`.
---@param text string
---@param url string
---@param role sf.Role?
---@return sf.Span
function sf.link(text, url, role) end

---A remark with the symbol of its level.
---@param level "info"|"warning"|"error"
---@param text string|sf.Span|sf.Block
---@return sf.Block
function sf.note(level, text) end

---The title of a view: the label of the call and its argument. `mark` names the glyph in front; `false` omits it.
---@param call sf.Call?
---@param arg any
---@param opts {mark: string|false|nil}?
---@return sf.Block
function sf.header(call, arg, opts) end

---A user's prompt.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.prompt(fields) end

---A reply of the agent.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.reply(fields) end

---Thinking of the agent.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.thinking(fields) end

---A tool call: `tool`, `input`, and `action` if it can't be inferred from the name of the tool.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.call(fields) end

---The result of the call with the id `id`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.result(fields) end

---The agent's to-do list, in `todos`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.plan(fields) end

---A notice of the agent's program, with `event` and `level`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.notice(fields) end

---The outcome of a run, with facts such as `turns`, `cost_usd` and `duration_ms`.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.outcome(fields) end

---An unknown record, shown unchanged.
---@param fields sf.ItemFields
---@return sf.Made
function sf.item.unknown(fields) end

---Appends text to an item that was made with `open = true`; for a call, a piece of the JSON of its input.
---@param fields {id: string, text: string}
---@return sf.Made
function sf.item.append(fields) end

---Completes an open item.
---@param fields {id: string, error: boolean?}
---@return sf.Made
function sf.item.close(fields) end

---Discards an open item.
---@param fields {id: string}
---@return sf.Made
function sf.item.drop(fields) end

---Reports facts of the run as they become known.
---@param fields {agent: string?, version: string?, model: string?, cwd: string?, id: string?, mode: string?}
---@return sf.Made
function sf.item.session(fields) end

---Reports the tokens of a message; the last report for each message counts.
---@param fields {message: string?, input: number?, output: number?, cache_read: number?, cache_write: number?}
---@return sf.Made
function sf.item.usage(fields) end

---Masks text in all output: known kinds of secrets, e-mail addresses, home folders, and custom patterns by name. If a pattern has a group, only the group is masked.
---@param what {secrets: boolean?, emails: boolean?, home: boolean?, patterns: table?}
function sf.redact(what) end

---The original JSON text of a value from the stream, or of a part of it; nil if there is no such part.
---@param value any
---@param key string|number|nil
---@return string?
function sf.raw(value, key) end

---The beginning of a text, at most `most` units long and never cut inside a character; and whether anything was cut.
---@param text string
---@param most number
---@param unit "bytes"|"utf16"|"characters"|nil
---@return string, boolean
function sf.cut(text, most, unit) end

---Parses JSON into plain tables; nil if it is invalid.
---@param text string?
---@return any
function sf.json(text) end

---Encodes a value as JSON: a table with elements from 1 on is an array, any other table is an object with sorted keys. A value that JSON can't represent, such as a function, is an error.
---@param value any
---@return string
function sf.json_encode(value) end

---A value in Lua syntax, in one line of at most 4,000 characters, for debugging: `print(sf.inspect(call.input))`.
---@param value any
---@return string
function sf.inspect(value) end

---Compiles a regular expression with the methods test, find, all and replace; what it scans counts as steps.
---@param pattern string
---@return sf.Regex
function sf.re(pattern) end

---The last component of a path.
---@param path string
---@return string
function sf.basename(path) end

---The text, truncated to at most `most` characters including an ellipsis.
---@param text string
---@param most number
---@return string
function sf.truncate(text, most) end

---The text without leading and trailing whitespace.
---@param text string
---@return string
function sf.trim(text) end

---The first line of a text.
---@param text string
---@return string
function sf.first_line(text) end

---The number of lines of a text; a final line feed doesn't start another line.
---@param text string
---@return number
function sf.count_lines(text) end

---A count with its noun: `1 file`, `1,234 files`.
---@param count number
---@param one string
---@param many string?
---@return string
function sf.plural(count, one, many) end

---A duration for people: `340ms`, `3.4s`, `1m 42s`.
---@param ms number
---@return string
function sf.duration(ms) end

---A size for people: `812 B`, `12.3 KB`.
---@param count number
---@return string
function sf.bytes(count) end

---Iterates over a table in the order of its keys.
---@param table table
---@return fun(): any, any
function sf.sorted(table) end

---An item, as passed to functions: fields are decoded on access, and it is valid until the function returns.
---@class sf.Item
---@field kind sf.Kind prompt, reply, thinking, call, result, plan, notice, outcome, record or unknown
---@field id string unique within the stream
---@field parent string? the call that started its sub-agent, if it is from one
---@field text string its text, as in the stream
---@field error boolean whether it is or reports a failure
---@field status sf.Status open, done, failed or cancelled
---@field data sf.Data typed facts: stdout, stderr, exit, patch, lines, …
---@field line number number of its first line in the stream
---@field time string? its time, as in the stream
---@field raw string? its record, unparsed
---@field frame table? its record, decoded on access
---@field block table|string|nil the part of the message that it was made from, decoded on access
---@field default fun(self): sf.Answer the view of the layers below, to wrap or extend; in the function of a result, `call:default()` is their view of the call

---A tool call.
---@class sf.Call: sf.Item
---@field tool string the tool; for MCP, its name without the server
---@field name string the tool as the stream names it
---@field server string? the MCP server
---@field action sf.Action run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other
---@field does table the parts of its input, with names shared by all agents: command, path, changes, …
---@field input sf.Input its input, decoded on access; input:table() is a copy, input:raw() the JSON text. While it is being written, the part that can be parsed
---@field partial boolean whether the input is incomplete: still being written, or broken off
---@field result sf.Result? always nil: a call is shown before its result is known

---The result of a call.
---@class sf.Result: sf.Item
---@field tool string? the tool
---@field name string? the tool as the stream names it
---@field action sf.Action? what the tool does
---@field took number? milliseconds since the call, if the stream contains both times
---@field call sf.Call? the call that it answers

---The context of an item, passed as `ctx`.
---@class sf.Context
---@field session sf.Session the facts of the run
---@field state table the plugin's state; only sf.on functions may write it
---@field options table the plugin's options; while the plugin is loading, use sf.options
---@field page boolean whether the output is a page (`markdown`, `slack`, `html`) instead of lines: for different wording, not for the appearance
---@field limits table the profile's limits: result_lines, …

---The known facts of the run.
---@class sf.Session
---@field agent string? the agent
---@field version string? the agent's version
---@field model string? the model
---@field cwd string? the working directory
---@field id string? the session's id
---@field mode string? the permission mode
---@field usage table tokens so far: input, output, cache_read, cache_write

---The spec of `sf.tool`; all fields are optional and independent.
---@class sf.ToolSpec
---@field label? string|fun(call: sf.Call, ctx: sf.Context): any the tool's name as shown: a template or a function
---@field arg? string|fun(input: sf.Input, call: sf.Call, ctx: sf.Context): any the one-line argument: a template, a JSON pointer or a function, which is called once the input isn't empty
---@field summary? string|fun(result: sf.Result, call: sf.Call, ctx: sf.Context): any the one-line summary of a result; for a failure, it follows the error message
---@field call? fun(call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a call: replaces label and arg
---@field result? fun(result: sf.Result, call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a result: replaces summary
---@field icon? string a glyph name, or a string, shown in front of the tool's name
---@field role? sf.Role the role of the tool's name
---@field collapse? boolean|"call"|"result"|"both"|"none" which bodies to fold; true means both, which leaves one line for a call and its result

---The spec of `sf.dialect`.
---@class sf.DialectSpec
---@field parse fun(object: any, ctx: sf.Context): sf.Made|sf.Made[]|false|nil converts one record, decoded on access, into items; nil keeps it as an unknown item, false hides it. It may write ctx.state
---@field detect? fun(sample: any[], ctx: sf.Context): number|boolean the confidence, from 0 to 1, that the first records are in this dialect; above 0.5 it takes precedence over built-in dialects
---@field finish? fun(ctx: sf.Context): sf.Made|sf.Made[]|nil returns items to add at the end of the input
---@field ends_with_outcome? boolean true if its streams end with an outcome: one that stops without it is shown as incomplete, and --fail gives exit code 1

---The fields accepted by the functions of `sf.item`. Typed facts, such as `stdout` or `turns`, are set the same way; docs/facts.md lists all.
---@class sf.ItemFields
---@field id? string its id; for a result, that of its call. By default it is derived from the line number
---@field parent? string the call that started its sub-agent, if it is from one
---@field text? string its text
---@field error? boolean whether it is or reports a failure
---@field time? string its time, in RFC 3339 format
---@field session? string the id of its session
---@field tool? string on calls: the tool; for MCP, mcp__SERVER__TOOL
---@field action? sf.Action on calls: run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other
---@field input? sf.Input on calls: the input, a table or a part of the record
---@field does? table on calls: what it does, in the parts that docs/facts.md lists for its action, such as `{ command = "ls" }` or `{ path = "a", changes = {{ old = "b", new = "c" }} }`; the input may have any names then. By default the parts are read from an input with the names of a known agent's tools
---@field call? string on results: the id of the call
---@field open? boolean whether it stays open until sf.item.close: sf.item.append extends it, and another item with the same id replaces its fields
---@field data? sf.Data typed facts whose names are also names of fields

---The spec of `sf.writer`. Each function returns a string; with nil, the base writes the part; with false, nothing is written.
---@class sf.WriterSpec
---@field base? "text"|"markdown"|"roles" the writer that it is based on
---@field ext? string the file name extension, also used for pages in a folder (`-o DIR/`)
---@field log? boolean true if the output is for the log of a CI service: text from the base, from `w:block` and `w:inlines`, and from functions called by the base is then escaped so that it is never a command there, wherever streamfmt runs. Only `begin`, `finish` and `entry` may write commands
---@field begin? fun(_: nil, w: sf.Writing): string? the text before the first entry
---@field finish? fun(_: nil, w: sf.Writing): string? the text after the last entry
---@field entry? fun(entry: sf.Entry, w: sf.Writing): string|false|nil a whole entry
---@field title? fun(title: sf.Part, w: sf.Writing): string|false|nil the title of an entry, with the entry's kind, tool, action, failed, mark, depth and time
---@field lines? fun(b: sf.Part, w: sf.Writing): string|false|nil lines of spans
---@field prose? fun(b: sf.Part, w: sf.Writing): string|false|nil Markdown
---@field heading? fun(b: sf.Part, w: sf.Writing): string|false|nil a Markdown heading
---@field code? fun(b: sf.Part, w: sf.Writing): string|false|nil verbatim text, including code blocks in Markdown
---@field diff? fun(b: sf.Part, w: sf.Writing): string|false|nil a diff
---@field list? fun(b: sf.Part, w: sf.Writing): string|false|nil a list
---@field table? fun(b: sf.Part, w: sf.Writing): string|false|nil a table
---@field image? fun(b: sf.Part, w: sf.Writing): string|false|nil a picture's placeholder
---@field details? fun(b: sf.Part, w: sf.Writing): string|false|nil blocks that can be folded
---@field elided? fun(b: sf.Part, w: sf.Writing): string|false|nil a note of omitted content, with lines and bytes
---@field span? {[string]: fun(text: string): string?} functions that write the text of a role, instead of the base's markup; a role without a function uses that of its parent

---The spec of `sf.records`.
---@class sf.RecordsSpec
---@field begin? fun(ctx: sf.Context): any returns the initial state: a table, string or number. The default is an empty table
---@field add fun(state: any, record: table, ctx: sf.Context): any adds a record and returns the new state, which may be the modified old one. The record is decoded on access; `record:table()` is a copy that can be stored. If it returns nil or false, or fails, the record stays in the text
---@field view fun(state: any, ctx: sf.Context): sf.Answer formats the state, in place of the records, without changing it. nil shows the records unchanged; false shows nothing. Output for programs contains the state itself, as written by sf.json_encode

---The part passed to a function of a writer: the same table that the block's constructor makes, such as `text` and `lang` for code. A heading has `level`, a diff `b:unified()`, lines are a list.
---@class sf.Part
---@field type? string the type of the part
---@field text? string the text of code, prose and headings
---@field lang? string the language of code
---@field level? number the level of a heading
---@field unified? fun(self): string a diff as `diff -u` writes it

---The methods for the functions of a writer, passed as `w`.
---@class sf.Writing
---@field block fun(self, block: any): string the text of a block as written by this writer; in the function for that type of block, as written by the base
---@field inlines fun(self, line: any): string the text of a line, title, heading or span, written by the functions in `span`

---The presentation of one item, passed to the `entry` function of a writer.
---@class sf.Entry
---@field kind sf.Kind the kind of the item
---@field id string the item's id
---@field parent? string the call that started its sub-agent
---@field tool? string the tool
---@field action? sf.Action what the tool does
---@field failed boolean whether it is or reports a failure
---@field mark? string the name of the glyph in front
---@field depth number the nesting depth in sub-agents
---@field time? string its time
---@field title table the title, for w:inlines
---@field blocks table[] the blocks below the title
---@field of? table the title of a result's call, if the call isn't directly above

---A hunk of a diff.
---@class sf.Hunk
---@field lines string[] the lines, each with the prefix +, - or a space
---@field old_start? number number of the first line in the old file
---@field new_start? number number of the first line in the new file

---A regular expression.
---@class sf.Regex
---@field test fun(self, text: string): boolean whether it matches
---@field find fun(self, text: string): table? the first match: [0] is the whole match, [1] and so on are the groups, which are also available by name
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

---the state of an item
---@alias sf.Status "open"|"done"|"failed"|"cancelled"

---the meaning of a text; custom roles extend a known one
---@alias sf.Role "accent"|"agent"|"agent.1"|"agent.2"|"agent.3"|"agent.4"|"agent.5"|"ask"|"ask.answer"|"ask.option"|"ask.question"|"badge"|"badge.critical"|"badge.info"|"badge.warning"|"call"|"call.arg"|"call.command"|"call.command.program"|"call.command.string"|"call.detail"|"call.input"|"call.key"|"call.note"|"call.value"|"change"|"change.add"|"change.remove"|"code"|"code.number"|"details"|"details.folded"|"details.hidden"|"details.summary"|"diff.add"|"diff.add.word"|"diff.hunk"|"diff.keep"|"diff.number"|"diff.remove"|"diff.remove.word"|"elided"|"error"|"faint"|"id"|"image"|"link"|"list.active"|"list.done"|"list.failed"|"list.open"|"list.plain"|"mark"|"mark.active"|"mark.arrow"|"mark.call"|"mark.column"|"mark.command"|"mark.cross"|"mark.diff-add"|"mark.diff-hunk"|"mark.diff-keep"|"mark.diff-remove"|"mark.done"|"mark.elided"|"mark.error"|"mark.failed"|"mark.image"|"mark.inside"|"mark.nest"|"mark.notice"|"mark.ok"|"mark.open"|"mark.outcome-error"|"mark.outcome-ok"|"mark.output"|"mark.plain"|"mark.plan"|"mark.prompt"|"mark.quote"|"mark.reply"|"mark.result"|"mark.row"|"mark.session"|"mark.thinking"|"mark.totals"|"mark.warning"|"markdown.bar"|"markdown.block"|"markdown.bullet"|"markdown.code"|"markdown.emphasis"|"markdown.heading"|"markdown.heading.1"|"markdown.heading.2"|"markdown.heading.3"|"markdown.heading.4"|"markdown.html"|"markdown.quote"|"markdown.rule"|"markdown.strike"|"markdown.strong"|"markdown.url"|"muted"|"nest"|"notice"|"notice.error"|"notice.info"|"notice.note"|"notice.record"|"notice.text"|"notice.warning"|"ok"|"outcome"|"outcome.error"|"outcome.figure"|"outcome.note"|"outcome.ok"|"outcome.warning"|"path"|"plan"|"plan.note"|"plan.point"|"prompt"|"prompt.task"|"record"|"record.label"|"record.note"|"record.text"|"reply"|"result"|"result.answer"|"result.error"|"result.error.text"|"result.file"|"result.link"|"result.note"|"result.note.of"|"result.ok"|"result.ok.note"|"result.structured"|"result.text"|"session"|"session.date"|"session.folder"|"session.id"|"session.mode"|"session.model"|"session.note"|"session.tool"|"session.version"|"strong"|"syntax.attribute"|"syntax.comment"|"syntax.constant"|"syntax.deleted"|"syntax.function"|"syntax.heading"|"syntax.inserted"|"syntax.invalid"|"syntax.keyword"|"syntax.number"|"syntax.operator"|"syntax.string"|"syntax.tag"|"syntax.type"|"syntax.variable"|"table.border"|"table.head"|"text"|"thinking"|"time"|"tool"|"tool.agent"|"tool.icon"|"tool.name"|"tool.note"|"tool.server"|"unknown"|"warning"|string

---Typed facts; absent if unknown. docs/facts.md lists the items that have them.
---@class sf.Data
---@field action? string What was done: `created`, …; absent if the session only belongs to it.
---@field added? number Number of added lines, if the change is known line by line. For an outcome: of all changes.
---@field after? number Tokens after the compaction.
---@field again? boolean True if the call already has a result.
---@field agent? string The sub-agent's id. For a session: the agent's program, if the format is that of several.
---@field agent_type? string The type of agent; for a session: of the sub-agent whose session it is.
---@field annotations? table Question → {`notes`}: the user's notes on the answer.
---@field answer? string The answer of a sub-agent, a page or a search.
---@field answers? table Question → answer.
---@field api_ms? number Milliseconds spent waiting for the model, over all turns so far.
---@field approved? boolean True if the user approved the plan.
---@field attempt? number Number of the attempt.
---@field background? string Id of the job, if it continues in the background.
---@field before? number Tokens before the compaction.
---@field block? any The part of the message, if it has an unusual form.
---@field bytes? number Size in bytes; for a command, of its whole output.
---@field call? string The id of the call concerned.
---@field call_count? number Number of calls, including those of sub-agents.
---@field calls? string[] Ids of calls without a result; the list may be incomplete.
---@field category? string The category of the refusal.
---@field cause? string Why the run failed: `interrupted`, `turns`, `budget`, `structure`, `running`, `blocked` (by a hook).
---@field cell? string The cell of a notebook.
---@field cell_count? number Number of cells of a notebook, if only the text contains them.
---@field cells? any[] The cells of a notebook.
---@field changed? string The only thing that changed since the previous session notice: `mode`.
---@field changes? table[] The change to each file, if a result covers several; the same form as `changes` in a call's `does`. For a command: the files that it changed.
---@field code? number The HTTP status.
---@field code_text? string The text of the HTTP status.
---@field command? string The command of the call; only in items of output for programs.
---@field content? string Text of a file, or matching lines.
---@field continues? string The session that it continues, whose history is in another file.
---@field cost_usd? number Cost of the run in US dollars, over all turns so far.
---@field count? number Number of files, pages, damaged records or calls.
---@field counted? boolean True if it is one of many that are counted but not shown.
---@field created? boolean True if the file is new, false if it existed before.
---@field cwd? string The working directory of the session. For a command: that of the next command, if the agent's program reset it.
---@field delay_ms? number Milliseconds until the next attempt.
---@field denials? table[] Denied calls.
---@field denied? any For a failure: true if the call was denied, or who denied it.
---@field duration_ms? number Milliseconds from start to end; for an outcome, of its turn.
---@field echo? boolean True if another item reports the same.
---@field edit_mode? string The change to the cell: `replace`, `insert`, `delete`.
---@field error? string The reason for the retry. For a limit: the code of the error.
---@field errors? any[] The errors that the agent's program reported.
---@field event? string The type of event.
---@field exit? number The exit code of a hook or a failed command.
---@field explanation? string The reason for the refusal.
---@field failed_calls? number Number of failed calls, including those of sub-agents; for an outcome, since the previous one.
---@field fenced? boolean True if the record is in a code block of its reply.
---@field files? any[] Paths that were found. For a command: the files that it changed, each with `filePath` and `hunks`; `changes` lists them with `path`.
---@field final? boolean True if the agent declares the reply the answer of its turn.
---@field for? string What a person is needed for: `permission`, `answer`, or `approval` of a plan.
---@field forked_from? string The session whose history it repeats at its beginning.
---@field from? string The previous model, or the dialect of the input. For a message: its sender.
---@field hits? any[] The hits of a web search, each with `title` and `url`.
---@field hook_event? string The event that triggered the hook.
---@field image? boolean True if the output was a picture.
---@field images? table[] Pictures and documents, without their contents.
---@field incomplete? boolean True if only the end of the record is missing.
---@field input? any The input of the call concerned.
---@field interrupted? boolean True if it was interrupted.
---@field items? string[] Ids of the retracted items.
---@field job? table The state of a background job.
---@field level? string Severity: `info`, `warning` or `error`.
---@field lines? number Number of lines read or found.
---@field listed? boolean True if the text is a summary line, then one path per line.
---@field lost? string[] What was not saved, as named in the stream.
---@field matches? number|any[] Number of matches, or the list of them.
---@field minor? boolean True if it is of minor importance: the detail `compact` omits it.
---@field mode? string The kind of search: `files_with_matches`, `content`, `count`. For a session: its permission mode.
---@field model? string The model.
---@field models? table[] Tokens and cost by model, over all turns so far.
---@field modified? string The file after the change: from the stream, or computed from the original and the change; absent if the original isn't known.
---@field more? any[] Parts of a result that are neither text nor picture.
---@field more_files? number Number of further files that the command changed.
---@field name? string Name of the hook, or of the sub-agent whose session it is.
---@field new_source? string The new source of a cell.
---@field no_result? boolean True if the stream never contains the result of the call.
---@field note? string A note of the agent's program on the exit code.
---@field number? number|string The number of the pull request.
---@field of? number Maximum number of attempts.
---@field old_source? string The previous source of a cell.
---@field original? string The file before the change.
---@field orphan? boolean True if its call isn't known.
---@field outcome? string The outcome of the hook.
---@field output_file? string The file that the output is written to.
---@field parent? string The session that started the sub-agent whose session it is.
---@field partial? boolean True if the input is incomplete: still being written, or broken off.
---@field patch? table[] The change as hunks.
---@field path? string The file or folder; in output for programs also if the call failed or its result doesn't name it.
---@field persisted? string The file that contains the whole output.
---@field plan? string The plan's text.
---@field problems? any[] The errors that are meant for people, if not all are. For a session: what could not be loaded, as texts.
---@field prompts? number Number of prompts.
---@field query? string The search query.
---@field raw? boolean True if the line wasn't an event.
---@field reason? string Why the run ended (`cost`: it was stopped at the limit of its cost), or why something was denied or not saved. For a limit: why no more may be used than it allows.
---@field redacted? boolean True if its text is withheld.
---@field removed? number Number of removed lines, if the change is known line by line. For an outcome: of all changes.
---@field repeated? boolean True if the text is the same as that of the last reply, or as the structured answer.
---@field repeats? string The session to which it belongs: this one only repeats it, as the beginning of a fork does.
---@field repo? string The repository of the pull request.
---@field resets_at? number The time when the limit is reset, in seconds since 1970.
---@field scope? string Whose limit it is, if it isn't the user's own.
---@field server? string The MCP server.
---@field server_side? boolean True if the tool ran on the API's servers.
---@field servers? table[] The session's MCP servers.
---@field session? string The session of the following items.
---@field skill? string The skill that was used.
---@field snippet? string The changed lines with some context, numbered, if there is no patch.
---@field start? number Number of the first line that was read, from 1.
---@field state? string Its state: `completed`, `async_launched`, …
---@field status? number|string For a retry: the HTTP status. Otherwise the state in words.
---@field stderr? string Standard error.
---@field stdout? string Standard output.
---@field stopped? string How the user stopped the call: `interrupted` while it ran, `rejected` before; `stopped` if the stream doesn't distinguish.
---@field structured? any The tool's own structured value, if no other fact contains it. For an outcome: an answer that was requested in a structured form.
---@field structured_repeated? boolean True if a call contains the same structured answer.
---@field subtype? string The subtype.
---@field success? boolean Whether the call succeeded. True without other facts: nothing else is known; false: it had no effect, but reported no error.
---@field task? string|table For a notice: the task's id. For a result: the task {`id`, `subject`, `status`}.
---@field tasks? table[] All tasks.
---@field timed_out? boolean True if the search was stopped by a timeout.
---@field timed_out_ms? number The timeout that stopped the command, in milliseconds.
---@field titles? any While a notice or an outcome is formatted, and only then: the names that the titles of the calls that it names have for their tools.
---@field to? string The new model; the dialect of the lines from here on.
---@field todos? table[] The to-do items, as the agent wrote them. The text of a plan is the agent's comment on it, if any.
---@field tokens? number Tokens that the sub-agent used.
---@field took_ms? number Duration of the call in milliseconds: as reported by the stream, otherwise the time between call and result, if the stream contains both.
---@field tool? string For a call: the MCP tool without its server. For a notice: the tool concerned.
---@field tool_uses? number Number of tool calls of the sub-agent.
---@field tools? string[] Names of the session's tools.
---@field total? number Number of lines of the whole file, as the agent counts: a final line feed counts as one more. For a search: the total number of files or lines.
---@field tree? any For the record at the end of a tree: the top-level nodes, a list of objects with a `record` and, if there are any, `children`. For an accumulator: its final state.
---@field tree_level? number For a record that is drawn in a tree: its depth, 0 at the top. Present only when a formatter is called for its node.
---@field trigger? string The cause.
---@field truncated? boolean True if there are more results.
---@field turn? table Figures of this turn alone, since the previous outcome; they can be summed over all outcomes.
---@field turns? number Number of the model's responses since the prompt. Claude Code up to 1.0 counts all messages so far.
---@field type? string The kind of file: `text`, `image`, `notebook`, `pdf`, `parts`, `unchanged`. Elsewhere the type as named in the stream; for an item that isn't interpreted, its type.
---@field unread? boolean True if lines of another dialect aren't read as such: the user chose one, or they are lines of text.
---@field url? string The URL. For a sub-agent that runs elsewhere: where it can be watched.
---@field usage? table Tokens. From Claude Code: of the turn; from Codex: over all turns so far. Inside `turn`: of the turn.
---@field user_modified? boolean True if the user edited the proposed change or plan.
---@field utilization? number The fraction of the limit that is used.
---@field value? any The event, unchanged. For an attachment: what is attached, if it has no text. For a record: the object, unchanged.
---@field version? string Version of the agent's program.
---@field words? string The part of the text meant for people, without the text that the agent's program added.
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
