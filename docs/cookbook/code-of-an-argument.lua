sf.tool("mcp__browser__evaluate", {
	call = function(call)
		return { sf.header(call), sf.code(call.input.script, "js", { role = "call.input" }) }
	end,
})
