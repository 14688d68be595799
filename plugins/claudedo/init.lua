-- One short line for each call and each result, replies as they are, the answer once more at the end.
--
-- Each record of the stream is formatted by itself: one that comes twice is written twice. A value of another type
-- than expected counts as absent. Lengths are counted in UTF-16 units.

local LONGEST = 120
-- Regular expressions and patterns take no longer texts.
local CHUNK = 1000000

local filled = sf.re("\\S(?:[^\\n]*\\S)?")
local base = sf.re("[^/\\\\]*$")

-- Texts one below the other, without a mark. Each gets a line feed unless it ends in one.
local function say(texts)
	local blocks = { sf.header(nil, nil, { mark = false }) }
	for _, text in texts do
		blocks[#blocks + 1] = sf.code(text, nil, { exact = true })
	end
	return #texts > 0 and blocks
end

local function short(text)
	local kept, is_cut = sf.cut(text, LONGEST, "utf16")
	return if is_cut then kept .. "…" else kept
end

-- The part of a value under a key, if it has parts.
local function part(value, key)
	return if type(value) == "userdata" then value[key] else nil
end

local function text_at(value, key)
	local text = part(value, key)
	if type(text) ~= "string" then
		return nil
	end
	-- A number that is too large for Lua is handed over as text.
	local is_number = string.find(text, "^-?%d") and string.sub(sf.raw(value, key), 1, 1) ~= '"'
	return if is_number then nil else text
end

-- A text that isn't empty.
local function words_at(value, key)
	local text = text_at(value, key)
	return if text ~= "" then text else nil
end

-- The elements of a list; none if it is no list.
local function each(list)
	return if type(list) == "userdata" and string.sub(sf.raw(list), 1, 1) == "[" then list else {}
end

-- The whole number at a key, as 32 bits hold it. `12.0` is none.
local function whole_at(value, key)
	local raw = type(value) == "userdata" and sf.raw(value, key)
	if not raw or #raw > 11 or not string.find(raw, "^-?%d+$") then
		return nil
	end
	local number = tonumber(raw)
	return if number >= -2147483648 and number <= 2147483647 then string.format("%d", number) else nil
end

-- The first line that isn't blank, without the blanks around it.
local function first_line(text)
	while text ~= "" do
		local chunk = sf.cut(text, CHUNK)
		local found = filled:find(chunk)
		if found then
			return found[0]
		end
		text = string.sub(text, #chunk + 1)
	end
	return ""
end

local function of_file(input)
	local path = text_at(input, "file_path")
	return path and base:find(string.sub(path, -CHUNK))[0]
end

local function cut(key)
	return function(input)
		local text = text_at(input, key)
		return text and short(text)
	end
end

local function quoted(key)
	return function(input)
		local text = words_at(input, key)
		return text and `"{short(text)}"`
	end
end

local function command(input)
	local text = words_at(input, "command")
	return text and "$ " .. short(text)
end

-- What the calls of a tool are about.
local ABOUT = {
	Read = of_file,
	Write = of_file,
	Edit = of_file,
	NotebookEdit = of_file,
	Bash = command,
	PowerShell = command,
	Grep = quoted("pattern"),
	Glob = cut("pattern"),
	Task = cut("description"),
	Agent = cut("description"),
	WebFetch = function(input)
		return text_at(input, "url")
	end,
	WebSearch = quoted("query"),
}

local function of_call(block)
	local name, input = text_at(block, "name") or "?", part(block, "input")
	local about = ABOUT[name]
	local arg = about and about(input)
	local kind = (name == "Task" or name == "Agent") and words_at(input, "subagent_type")
	local label = if kind then `{name}: {kind}` else name
	return if arg and arg ~= "" then `[{label}] {arg}\n` else `[{label}]\n`
end

-- The text of a result.
local function content_of(block)
	local text = text_at(block, "content")
	if text then
		return text
	end
	local texts = {}
	for _, piece in each(part(block, "content")) do
		if text_at(piece, "type") == "text" then
			texts[#texts + 1] = text_at(piece, "text")
		end
	end
	return table.concat(texts, "\n")
end

local function of_result(block, lines)
	local first = short(first_line(content_of(block)))
	if part(block, "is_error") == true then
		return if first == "" then "→ error\n" else `→ error: {first}\n`
	end
	if lines then
		return `→ {lines} lines\n`
	end
	return if first == "" then "→ ok\n" else `→ {first}\n`
end

-- What is said of the records of a type.
local SAYS = {
	system = function(frame)
		local subtype = text_at(frame, "subtype")
		if subtype == "api_retry" then
			return { "[Retrying API call...]\n" }
		elseif subtype ~= "init" then
			return {}
		end
		local id, model = text_at(frame, "session_id"), words_at(frame, "model")
		local session = if id then (sf.cut(id, 8, "utf16")) else "?"
		return { if model then `[session {session} · {model}]\n` else `[session {session}]\n` }
	end,
	assistant = function(frame)
		local texts = {}
		for _, block in each(part(part(frame, "message"), "content")) do
			local kind = text_at(block, "type")
			if kind == "text" then
				texts[#texts + 1] = words_at(block, "text")
			elseif kind == "tool_use" then
				texts[#texts + 1] = of_call(block)
			end
		end
		return texts
	end,
	user = function(frame)
		local texts = {}
		-- Histories spell it the other way.
		local facts = part(frame, "tool_use_result") or part(frame, "toolUseResult")
		local lines = whole_at(part(facts, "file"), "numLines")
		for _, block in each(part(part(frame, "message"), "content")) do
			if text_at(block, "type") == "tool_result" then
				texts[#texts + 1] = of_result(block, lines)
			end
		end
		return texts
	end,
	result = function(frame)
		if not sf.raw(frame, "result") then
			return {}
		end
		return { `\n--- Result ---\n{text_at(frame, "result") or ""}\n` }
	end,
}

sf.view("frame", function(item)
	local says = SAYS[text_at(item.frame, "type")]
	return says ~= nil and say(says(item.frame))
end)

-- A line that is no JSON passes through.
sf.view("unknown", function(item)
	return if item.data.raw then say({ item.text }) else nil
end)

sf.view("notice", function(notice)
	local event = notice.data.event
	if event == "damaged" and notice.text ~= "" then
		return say({ notice.text })
	end
	-- What is said at the end of the input, of all of it.
	return if event == "damaged" or event == "open-calls" or event == "no-outcome" or event == "totals" then false else nil
end)

-- What was streamed and never came whole.
local function but_streamed(item)
	return if item.block == nil then false else nil
end

sf.view("reply", but_streamed)
sf.view("thinking", but_streamed)
sf.tool("*", { call = but_streamed })
