-- Whether `rm` is run with -r or -f, whatever stands around it; a text that only says so is none.
local function removes(line)
	for _, command in sf.commands(line) or {} do
		local at = table.find(command.words, "rm")
		if at and string.find(command.words[at + 1] or "", "^%-%a*[rf]") then
			return true
		end
	end
	return false
end

sf.tool("Bash", {
	call = function(call)
		local command = call.input.command or ""
		if not removes(command) then
			return nil
		end
		return { sf.header(call, sf.span(command, "notice.warning")), sf.note("warning", "removes without asking") }
	end,
})
