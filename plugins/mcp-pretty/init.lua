-- Calls of MCP servers: short arguments in the title, code below it with its real lines.

local LANGUAGES = {
	sql = "sql",
	query = "sql",
	script = "js",
	expression = "js",
	["function"] = "js",
	html = "html",
	json = "json",
}
local is_code_key = {}
for _, key in sf.options.code_keys do
	is_code_key[key] = true
end

local looks_like = {
	{ sf.re("^\\s*(async |function|const |let |import .* from|\\(\\) ?=>)"), "js" },
	{ sf.re("^\\s*(def |import |from \\w+ import|class \\w+.*:)"), "py" },
	{ sf.re("(?i)^\\s*(select|insert|update|delete|create|with)\\s"), "sql" },
	{ sf.re("^\\s*[\\[{]"), "json" },
	{ sf.re("^\\s*<"), "html" },
}

local function language(key, text)
	local start = sf.cut(text, 1000)
	for _, known in looks_like do
		if known[1]:test(start) then
			return known[2]
		end
	end
	return LANGUAGES[key]
end

-- A value on one line.
local function short(input, key, value)
	if type(value) == "string" then
		return sf.truncate(value, 60)
	end
	local raw = sf.raw(input, key) or ""
	return sf.truncate(raw, 60)
end

sf.tool("mcp__*", {
	label = function(call)
		if not call.server then
			return nil
		end
		return { sf.span(call.server, "tool.server"), sf.span((string.gsub(call.tool, "_", " ")), "tool.name") }
	end,
	call = function(call)
		local input = call.input
		if call.partial or type(input) ~= "userdata" then
			return nil
		end
		local title, body, more = {}, {}, 0
		for key, value in input do
			if type(key) ~= "string" then
				return nil
			end
			local is_text = type(value) == "string"
			if is_text and (string.find(value, "\n", 1, true) or (is_code_key[key] and #value > 60)) then
				body[#body + 1] = sf.line(sf.span(key .. ":", "call.key"))
				body[#body + 1] = sf.code(value, language(key, value), { role = "call.value" })
			elseif #title < sf.options.most_args then
				title[#title + 1] = sf.span(key .. "=" .. short(input, key, value), "call.arg")
			else
				more += 1
			end
		end
		if more > 0 then
			title[#title + 1] = sf.span("+" .. more, "muted")
		end
		return { sf.header(call, title), body }
	end,
	summary = function(result)
		if result.error then
			return nil
		end
		local value = #result.text < 200000 and sf.json(result.text)
		if type(value) ~= "table" then
			return nil
		end
		if #value > 0 then
			return sf.text(sf.plural(#value, "entry", "entries"), "result.note")
		end
		local name = value.title or value.name or value.message or value.status
		return type(name) == "string" and sf.text(sf.first_line(sf.truncate(name, 80)), "result.note") or nil
	end,
})
