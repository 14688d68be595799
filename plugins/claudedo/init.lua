-- One short line for each call and each result, replies as they are, the answer once more at the end.
--
-- The stream is looked at as it is written: a value of another type than expected counts as absent, and lengths
-- are counted in UTF-16 units.

local LONGEST = 120
local LARGEST = 1000000

local BLANK = "[\\s\\x{85}]+"
local head, tail = sf.re("^" .. BLANK), sf.re(BLANK .. "$")
local folder = sf.re("(?s)^.*/")

-- The text alone, without a mark; one line feed is added unless it ends in one.
local function say(text)
	return { sf.header(nil, nil, { mark = false }), sf.code(text, nil, { exact = true }) }
end

local function line(text)
	return say(text .. "\n")
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
	return if type(text) == "string" then text else nil
end

-- The whole number at a key, as 32 bits hold it. `12.0` is none.
local function whole_at(value, key)
	local raw = type(value) == "userdata" and sf.raw(value, key)
	if not raw or #raw > 11 or not string.find(raw, "^-?%d+$") then
		return nil
	end
	local number = tonumber(raw)
	return if number and number >= -2147483648 and number <= 2147483647 then raw else nil
end

local function of_file(input)
	local path = text_at(input, "file_path")
	return path and #path < LARGEST and folder:replace(path, "")
end

local function quoted(key)
	return function(input)
		local text = text_at(input, key)
		return text and '"' .. text .. '"'
	end
end

-- What the calls of a tool are about.
local ABOUT = {
	Read = of_file,
	Write = of_file,
	Edit = of_file,
	MultiEdit = of_file,
	NotebookEdit = of_file,
	Grep = quoted("pattern"),
	WebSearch = quoted("query"),
	Glob = function(input)
		return text_at(input, "pattern")
	end,
	Task = function(input)
		return text_at(input, "description")
	end,
	Bash = function(input)
		local command = text_at(input, "command")
		return command and "$ " .. short(command)
	end,
}

sf.tool("*", {
	call = function(call)
		local name = text_at(call.block, "name")
		local about = name and ABOUT[name]
		local arg = about and about(call.input)
		local kind = name == "Task" and text_at(call.input, "subagent_type")
		local label = if kind then name .. ": " .. kind else name or "?"
		return line(if arg and arg ~= "" then `[{label}] {arg}` else `[{label}]`)
	end,
	result = function(result)
		local block, frame = result.block, result.frame
		local content = part(block, "content")
		if type(content) == "userdata" then
			local texts = {}
			for _, piece in content do
				if text_at(piece, "type") == "text" then
					texts[#texts + 1] = text_at(piece, "text")
				end
			end
			content = table.concat(texts, "\n")
		end
		local text = sf.cut(if type(content) == "string" then content else "", LARGEST)
		text = short(tail:replace(sf.first_line(head:replace(text, "")), ""))
		if part(block, "is_error") == true then
			return line(if text == "" then "→ error" else "→ error: " .. text)
		end
		local facts = part(frame, "tool_use_result") or part(frame, "toolUseResult")
		local lines = whole_at(part(facts, "file"), "numLines")
		if lines then
			return line(`→ {lines} lines`)
		end
		return line(if text == "" then "→ ok" else "→ " .. text)
	end,
})

sf.view("reply", function(reply)
	local text = text_at(reply.block, "text")
	if text_at(reply.block, "type") ~= "text" or not text or text == "" then
		return false
	end
	return say(text)
end)

sf.view("notice", function(notice)
	if notice.data.event == "damaged" then
		return say(notice.text)
	end
	local frame = notice.frame
	if notice.data.event ~= "session" or text_at(frame, "subtype") ~= "init" then
		return false
	end
	local id, model = text_at(frame, "session_id"), text_at(frame, "model")
	id = if id then (sf.cut(id, 8, "utf16")) else "?"
	return line(if model then `[session {id} · {model}]` else `[session {id}]`)
end)

sf.view("outcome", function(outcome)
	local text = text_at(outcome.frame, "result")
	return text and text ~= "" and line("\n--- Result ---\n" .. text) or false
end)

-- A line that is no JSON passes through.
sf.view("unknown", function(item)
	return item.data.raw and not item.data.type and say(item.text) or false
end)

local function nothing()
	return false
end

for _, kind in { "prompt", "thinking", "plan", "record" } do
	sf.view(kind, nothing)
end
