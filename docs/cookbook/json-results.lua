sf.tool("mcp__shop__list", {
	result = function(result)
		local list = sf.json(result.text)
		if type(list) ~= "table" then
			return nil
		end
		local rows = {}
		for _, entry in list do
			rows[#rows + 1] = { tostring(entry.id), entry.name or "" }
		end
		return sf.table({ "id", "name" }, rows)
	end,
})
