-- An output format for the logs of GitHub Actions.
--
-- The runner obeys lines that begin with `::`, blanks in front or not, and `##[` anywhere. Only this file may write such
-- lines: with `log` the base, `w:block` and `w:inlines` part what would begin one in a text of the stream. Text of the stream
-- never begins a row: a mark or blanks come first, so that none can pass for a call or a failure.

local marks = {
	call = "●", result = "↳", error = "✗", warning = "▲", notice = "·", prompt = "›", thinking = "✻", plan = "≡",
	session = "◇", ["outcome-ok"] = "✓", ["outcome-error"] = "✗",
}

-- What stands behind the `::` of a command must be on one line.
local function data(text)
	return (string.gsub(sf.truncate(text, 400), "[%%\r\n]", { ["%"] = "%25", ["\r"] = "%0D", ["\n"] = "%0A" }))
end

local function property(text)
	return (string.gsub(data(text), "[:,]", { [":"] = "%3A", [","] = "%2C" }))
end

local function ended(text)
	return if text == "" or string.sub(text, -1) == "\n" then text else text .. "\n"
end

-- Each row that isn't empty behind so many blanks.
local function set_in(text, blanks)
	return (string.gsub(text, "[^\n]+", blanks .. "%0"))
end

sf.writer("github-actions", {
	base = "text",
	log = true,
	ext = "log",
	entry = function(entry, w)
		local title = w:inlines(entry.title)
		local of = entry.of and w:inlines(entry.of)
		local body = {}
		for _, block in entry.blocks do
			body[#body + 1] = ended(w:block(block))
		end
		local text = table.concat(body)
		local lines = sf.count_lines(text)
		local head = title
		if of then
			head = if title == "" then of else of .. " · " .. title
		end
		local margin = if entry.kind == "result" then "  " else ""
		local mark = marks[entry.mark]
		local title_row = margin .. (if mark then mark .. " " else "  ") .. head
		local body_rows = set_in(text, margin .. "  ")
		local out = {}
		if sf.options.annotations and entry.failed and (entry.kind == "result" or entry.kind == "outcome") then
			local what = if entry.kind == "outcome" then "The run failed" else (entry.tool or "A call") .. " failed"
			local why = if head ~= "" and text ~= "" then head .. "\n" .. text else head .. text
			out[1] = `::error title={property(what)}::{data((string.gsub(why, "\n$", "")))}\n`
		end
		local is_folded = lines > sf.options.group_lines and entry.kind ~= "reply" and entry.kind ~= "outcome"
		if is_folded then
			out[#out + 1] = `::group::{data(if head == "" then entry.kind else head)}\n{body_rows}::endgroup::\n`
		else
			out[#out + 1] = (if head == "" then "" else ended(title_row)) .. body_rows
		end
		return table.concat(out)
	end,
})
