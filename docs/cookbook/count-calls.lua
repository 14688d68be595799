sf.on("session.start", function(_, ctx)
	ctx.state.calls = {}
end)

sf.on("call", function(call, ctx)
	local calls = ctx.state.calls
	calls[call.name] = (calls[call.name] or 0) + 1
end)

sf.on("session.end", function(_, ctx)
	local rows = {}
	for tool, count in sf.sorted(ctx.state.calls) do
		rows[#rows + 1] = { tool, tostring(count) }
	end
	return sf.table({ "tool", "calls" }, rows)
end)
