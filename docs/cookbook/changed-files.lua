sf.on("session.start", function(_, ctx)
	ctx.state.files, ctx.state.seen = {}, {}
end)

local function changed(call, ctx)
	local path = call.input and call.input.file_path
	if (call.action == "edit" or call.action == "write") and path and not ctx.state.seen[path] then
		ctx.state.seen[path] = true
		table.insert(ctx.state.files, path)
	end
end

sf.on("call", changed)

sf.on("session.end", function(_, ctx)
	return #ctx.state.files > 0 and { sf.text("changed:", "muted"), sf.list(ctx.state.files) } or nil
end)
