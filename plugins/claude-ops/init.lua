-- Lines for the log of a dashboard: calls with their input as it is written, results in short, a last line with
-- what the run cost.
--
-- A line of the stream is read as one record of fixed types. If a value is of another type the line is told as it
-- is written, once, whatever else could be made of it. Lengths are counted in bytes.

local INPUT, RESULT = 200, 300
local LARGEST = 1000000

local blanks = sf.re("[\\s\\x{85}]+")
local log_time = sf.re("^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\t$")

local function say(text)
	return { sf.header(nil, nil, { mark = false }), sf.code(text .. "\n", nil, { exact = true }) }
end

local function short(text, most)
	local kept, is_cut = sf.cut(text, most)
	return if is_cut then kept .. "..." else kept
end

-- Blanks of any kind become one; none is left at the ends.
local function collapsed(text)
	return (string.gsub(blanks:replace(sf.cut(text, LARGEST), " "), "^ ?(.-) ?$", "%1"))
end

local function is_null(value, key)
	local raw = sf.raw(value, key)
	return raw == nil or raw == "null"
end

-- Whether the value at a key is a text, or not there.
local function fits_text(value, key)
	return is_null(value, key) or type(value[key]) == "string"
end

-- Whether it is a whole number, written as one.
local function fits_whole(value, key)
	local raw = sf.raw(value, key)
	return raw == nil or raw == "null" or (#raw < 20 and string.find(raw, "^-?%d+$") ~= nil)
end

local function fits_number(value, key)
	local raw = sf.raw(value, key)
	local number = raw and tonumber(raw)
	return raw == nil or raw == "null" or (number ~= nil and math.abs(number) < math.huge)
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

-- Whether a record is of the types that are expected.
local function fits(frame)
	if not is_object(frame) then
		return false
	end
	local message = frame.message
	local fits_message = is_null(frame, "message")
		or is_object(message) and (is_null(message, "content") or fits_blocks(message.content))
	return fits_message
		and fits_text(frame, "type")
		and fits_text(frame, "subtype")
		and fits_text(frame, "result")
		and fits_whole(frame, "num_turns")
		and fits_whole(frame, "duration_ms")
		and fits_number(frame, "total_cost_usd")
		and (is_null(frame, "is_error") or type(frame.is_error) == "boolean")
end

-- Looks at each record once, when the first item of it comes.
local function look(item, ctx)
	local state = ctx.state
	if state.line ~= item.line then
		state.line, state.first, state.result = item.line, item.id, nil
		state.fits = item.frame == nil or fits(item.frame)
	end
	if item.kind == "result" then
		state.result = state.result or item.id
	end
end

for _, kind in
	{ "prompt", "reply", "thinking", "call", "result", "plan", "notice", "outcome", "record", "unknown" }
do
	sf.on(kind, look)
end

-- A view of a record that fits; one that doesn't is told as it is written, by its first item.
local function checked(view)
	return function(item, ...)
		local ctx = select(-1, ...)
		local is_known = ctx.state.line == item.line
		local is_fit = if is_known then ctx.state.fits else item.frame == nil or fits(item.frame)
		if not is_fit then
			return (not is_known or ctx.state.first == item.id) and say(item.raw) or false
		end
		return view(item, ctx)
	end
end

local function text_of_content(block)
	local raw = sf.raw(block, "content")
	local content = block.content
	if raw == nil or raw == "null" then
		return ""
	end
	if type(content) == "string" then
		return content
	end
	if not is_list(content) then
		return raw
	end
	local texts = {}
	for _, part in content do
		if not is_object(part) or not fits_text(part, "type") or not fits_text(part, "text") then
			return raw
		end
		if part.type == "text" then
			texts[#texts + 1] = part.text
		end
	end
	return table.concat(texts, " ")
end

sf.tool("*", {
	call = checked(function(call)
		local input = sf.raw(call.block, "input") or ""
		return say(`[tool] {call.name or ""}: {short(input, INPUT)}`)
	end),
	-- One result for each record.
	result = checked(function(result, ctx)
		if not is_object(result.block) or (ctx.state.result and ctx.state.result ~= result.id) then
			return false
		end
		return say("[result] " .. short(collapsed(text_of_content(result.block)), RESULT))
	end),
})

sf.view("reply", checked(function(reply)
	return is_object(reply.block) and reply.block.type == "text" and reply.text ~= "" and say(reply.text) or false
end))

sf.view("notice", checked(function(notice)
	if notice.data.event == "damaged" then
		-- The time in front of a line of a log.
		return not log_time:test(sf.cut(notice.text, 64)) and say(notice.text) or false
	end
	local frame = notice.frame
	local is_start = notice.data.event == "session" and frame and frame.subtype == "init"
	return is_start and say("--- session started ---") or false
end))

sf.view("outcome", checked(function(outcome)
	local frame = outcome.frame
	if not frame then
		return false
	end
	local function number(key)
		return if is_null(frame, key) then "0" else sf.raw(frame, key)
	end
	local state = if frame.is_error == true then "error" else "complete"
	local cost = string.format("%.4f", tonumber(number("total_cost_usd")) or 0)
	local turns, duration = number("num_turns"), number("duration_ms")
	return say(`--- session {state} (turns={turns}, cost=${cost}, duration={duration}ms) ---`)
end))

sf.view("unknown", checked(function(item)
	if not item.data.raw then
		return false
	end
	if not item.data.type then
		return say(item.text)
	end
	-- JSON that is no event: an object without a type says nothing.
	local value = sf.json(item.text)
	local says_nothing = value == nil and item.text == "null"
		or type(value) == "table" and string.sub(item.text, 1, 1) == "{" and value.type == nil
	return not says_nothing and say(item.text) or false
end))

local nothing = checked(function()
	return false
end)

for _, kind in { "prompt", "thinking", "plan", "record" } do
	sf.view(kind, nothing)
end
