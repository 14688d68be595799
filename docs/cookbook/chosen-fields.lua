sf.tool("mcp__tracker__create", {
	call = function(call)
		local input = call.input
		local labels = input.labels and input.labels:table() or {}
		return {
			sf.header(call, input.title),
			sf.kv({ { "project", input.project or "none" }, { "labels", table.concat(labels, ", ") } }),
		}
	end,
})
