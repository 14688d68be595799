-- Lines for the log of a dashboard: calls with their input as it is written, results in short, a last line with
-- what the run cost. On a page the same log has badges.
--
-- Each record of the stream is formatted by itself, and read as one of fixed types. Of the types that have output, a record
-- with a value of another type is written as it is. Lengths are counted in bytes.

local INPUT, RESULT = 200, 300
local SUMMARY, PAGE_RESULT = 120, 2000
-- Regular expressions and patterns take no longer texts.
local CHUNK = 1000000

local BLANK = "\\s+"
local blanks, head, tail = sf.re(BLANK), sf.re("^" .. BLANK), sf.re(BLANK .. "$")
local stamp = sf.re("^\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([Zz]|[+-]\\d\\d:\\d\\d)\\t")
local event = sf.re("(?s)^\\s*\\[EVENT:([A-Za-z]+)(?::([^\\]\\n]*))?\\]\\s*(.*)$")

-- Without a mark of ours.
local function titled(spans)
	return sf.header(nil, spans, { mark = false })
end

local function short(text, most)
	local kept, is_cut = sf.cut(text, most)
	return if is_cut then kept .. "..." else kept
end

-- The text without ANSI sequences: `ESC [`, parameters, a final byte.
local function plain(text)
	if not string.find(text, "\27", 1, true) then
		return text
	end
	local parts = string.split(text, "\27")
	for at = 2, #parts do
		local _, last = string.find(string.sub(parts[at], 1, CHUNK), "^%[[ -?]*[@-~]")
		parts[at] = if last then string.sub(parts[at], last + 1) else "\27" .. parts[at]
	end
	return table.concat(parts)
end

local function without_head(text)
	local found = head:find(sf.cut(text, CHUNK))
	while found do
		text = string.sub(text, #found[0] + 1)
		found = head:find(sf.cut(text, CHUNK))
	end
	return text
end

local function trimmed(text)
	text = without_head(text)
	local found = tail:find(string.sub(text, -CHUNK))
	while found do
		text = string.sub(text, 1, #text - #found[0])
		found = tail:find(string.sub(text, -CHUNK))
	end
	return text
end

-- Each run of white space becomes a blank; none is left at the ends.
local function collapsed(text)
	text = blanks:replace(sf.cut(without_head(text), CHUNK), " ")
	return if string.sub(text, -1) == " " then string.sub(text, 1, -2) else text
end

-- The JSON of a value at a key, unless it is absent or null.
local function raw_at(value, key)
	local raw = sf.raw(value, key)
	return if raw ~= "null" then raw else nil
end

-- Whether the value at a key is a text, or not there.
local function fits_text(value, key)
	local raw = raw_at(value, key)
	return raw == nil or string.sub(raw, 1, 1) == '"'
end

-- Whether it is a whole number of 64 bits, written as one.
local function fits_whole(value, key)
	local raw = raw_at(value, key)
	if raw == nil then
		return true
	end
	local sign, digits = string.match(raw, "^(-?)(%d+)$")
	local most = if sign == "-" then "9223372036854775808" else "9223372036854775807"
	return digits ~= nil and (#digits < #most or #digits == #most and digits <= most)
end

local function fits_number(value, key)
	local raw = raw_at(value, key)
	local number = raw and tonumber(raw)
	return raw == nil or type(number) == "number" and math.abs(number) < math.huge
end

local function is_object(value)
	return type(value) == "userdata" and string.sub(sf.raw(value), 1, 1) == "{"
end

local function is_list(value)
	return type(value) == "userdata" and string.sub(sf.raw(value), 1, 1) == "["
end

local function fits_blocks(content)
	if not is_list(content) then
		return false
	end
	for _, block in content do
		local fits = block == nil
			or is_object(block) and fits_text(block, "type") and fits_text(block, "text") and fits_text(block, "name")
		if not fits then
			return false
		end
	end
	return true
end

-- Whether a record is of the types that are expected. A content may be one text instead of blocks.
local function fits(frame)
	if not is_object(frame) then
		return false
	end
	local message = frame.message
	local fits_message = raw_at(frame, "message") == nil
		or is_object(message) and (fits_text(message, "content") or fits_blocks(message.content))
	return fits_message
		and fits_text(frame, "type")
		and fits_text(frame, "subtype")
		and fits_text(frame, "result")
		and fits_whole(frame, "num_turns")
		and fits_whole(frame, "duration_ms")
		and fits_number(frame, "total_cost_usd")
		and (raw_at(frame, "is_error") == nil or type(frame.is_error) == "boolean")
end

-- The blocks of a record's message.
local function blocks_of(frame)
	local message = raw_at(frame, "message") and frame.message
	if not message or raw_at(message, "content") == nil then
		return {}
	end
	return if is_list(message.content) then message.content else { { type = "text", text = message.content } }
end

local function text_of_content(block)
	local content = block.content
	if not is_list(content) then
		return if fits_text(block, "content") then content or "" else sf.raw(block, "content")
	end
	local texts = {}
	for _, part in content do
		if part ~= nil then
			if not is_object(part) or not fits_text(part, "type") or not fits_text(part, "text") then
				return sf.raw(content)
			end
			texts[#texts + 1] = if part.text ~= "" then part.text else nil
		end
	end
	return table.concat(texts, " ")
end

-- What the badge of a call is followed by on a page.
local ABOUT = {
	Bash = "command",
	Read = "file_path",
	Write = "file_path",
	Edit = "file_path",
	Grep = "pattern",
	Glob = "pattern",
	WebFetch = "url",
	WebSearch = "query",
	Task = "prompt",
}

local BADGES = {}
for role, levels in
	{
		["badge.warning"] = { "warn", "warning", "degraded" },
		["badge.critical"] = { "critical", "error", "err", "fatal", "failure", "failed" },
	}
do
	for _, level in levels do
		BADGES[level] = role
	end
end

-- A record says pieces. Each has the words of its lines and, for a page, its title and its blocks.
local function line(words)
	return { words = words, title = { sf.span(words) }, blocks = {} }
end

local function of_text(text)
	local blocks, rest = {}, {}
	local function settle()
		if #rest > 0 then
			blocks[#blocks + 1] = sf.text(table.concat(rest, "\n"))
			rest = {}
		end
	end
	for _, row in string.split(text, "\n") do
		local found = #row < CHUNK and event:find(row)
		if found then
			settle()
			local badge = sf.span(found[1], BADGES[string.lower(found[1])] or "badge.info")
			local service = if found[2] and found[2] ~= "" then " " .. found[2] else ""
			blocks[#blocks + 1] = sf.line(badge, sf.span(service, "muted"), " " .. found[3])
		else
			rest[#rest + 1] = row
		end
	end
	settle()
	return { words = text, title = nil, blocks = blocks }
end

local function of_call(block)
	local name, input = block.name or "", sf.raw(block, "input") or ""
	local about = ABOUT[name] and is_object(block.input) and block.input[ABOUT[name]] or nil
	local summary = if about and fits_text(block.input, ABOUT[name]) then about else input
	return {
		words = `[tool] {name}: {short(input, INPUT)}`,
		title = { sf.span(name, "badge"), sf.span(short(collapsed(summary), SUMMARY), "call.arg") },
		blocks = {},
	}
end

local function of_result(block)
	local text = plain(text_of_content(block))
	return {
		words = "[result] " .. short(collapsed(text), RESULT),
		blocks = { sf.code(short(text, PAGE_RESULT), nil, { role = "result.text" }) },
	}
end

local function of_outcome(frame)
	local function number(key)
		local raw = raw_at(frame, key) or "0"
		return if raw == "-0" then "0" else raw
	end
	local state = if frame.is_error == true then "error" else "complete"
	local cost = string.format("%.4f", tonumber(raw_at(frame, "total_cost_usd") or "0"))
	local turns, duration = number("num_turns"), number("duration_ms")
	return line(`--- session {state} (turns={turns}, cost=${cost}, duration={duration}ms) ---`)
end

-- The output for the records of a type. All other types have none.
local SAYS = {
	system = function()
		return { line("--- session started ---") }
	end,
	assistant = function(frame)
		local pieces = {}
		for _, block in blocks_of(frame) do
			if block ~= nil and block.type == "text" then
				local text = trimmed(plain(block.text or ""))
				pieces[#pieces + 1] = if text ~= "" then of_text(text) else nil
			elseif block ~= nil and block.type == "tool_use" then
				pieces[#pieces + 1] = of_call(block)
			end
		end
		return pieces
	end,
	user = function(frame)
		for _, block in blocks_of(frame) do
			if block ~= nil and block.type == "tool_result" then
				return { of_result(block) }
			end
		end
		return {}
	end,
	result = function(frame)
		return { of_outcome(frame) }
	end,
}

local function say(pieces, ctx)
	if #pieces == 0 then
		return false
	end
	if not ctx.page then
		local answer = { titled(nil) }
		for _, piece in pieces do
			answer[#answer + 1] = sf.code(piece.words .. "\n", nil, { exact = true })
		end
		return answer
	end
	local answer = { titled(pieces[1].title) }
	for at, piece in pieces do
		if at > 1 and piece.title then
			answer[#answer + 1] = titled(piece.title)
		end
		for _, block in piece.blocks do
			answer[#answer + 1] = block
		end
	end
	return answer
end

-- Whether a record has no output, whatever its values are.
local function is_silent(frame)
	if not is_object(frame) or not fits_text(frame, "type") then
		return false
	end
	local is_other = fits_text(frame, "subtype") and frame.subtype ~= "init"
	return if frame.type == "system" then is_other else SAYS[frame.type or ""] == nil
end

sf.view("frame", function(item, ctx)
	local frame = item.frame
	if frame == nil or is_silent(frame) then
		return false
	end
	return say(if fits(frame) then SAYS[frame.type](frame) else { line(item.raw) }, ctx)
end)

-- A line that is no JSON, or a part of one, passes through; the time in front of a line of a log doesn't.
local function pass(text, ctx)
	local time = stamp:find(sf.cut(text, 64))
	text = if time then string.sub(text, #time[0] + 1) else text
	return text ~= "" and say({ line(text) }, ctx)
end

sf.view("unknown", function(item, ctx)
	return if item.data.raw then pass(item.text, ctx) else nil
end)

sf.view("notice", function(notice, ctx)
	local event = notice.data.event
	if event == "damaged" then
		return pass(notice.text, ctx)
	end
	-- What is said at the end of the input, of all of it.
	return if event == "open-calls" or event == "no-outcome" or event == "totals" then false else nil
end)

-- What was streamed and never came whole.
local function but_streamed(item)
	return if item.block == nil then false else nil
end

sf.view("reply", but_streamed)
sf.view("thinking", but_streamed)
sf.tool("*", { call = but_streamed })
