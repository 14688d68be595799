local function unless_inside(item)
	if item.parent then
		return false
	end
end

sf.tool("*", { call = unless_inside, result = unless_inside })
for _, kind in { "prompt", "reply", "thinking", "plan", "notice" } do
	sf.view(kind, unless_inside)
end
