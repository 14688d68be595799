sf.tool("Bash", {
	call = function(call)
		local command = call.input.command or ""
		if not string.find(command, "rm -rf", 1, true) then
			return nil
		end
		return { sf.header(call, sf.span(command, "notice.warning")), sf.note("warning", "removes without asking") }
	end,
})
