sf.view("record", function(record)
	if not record.data.tree_level then
		return nil
	end
	local fields = record.data.value
	local mark = fields.priority == "high" and " (!)" or ""
	return sf.text((fields.name or fields.type) .. mark, "record.label")
end)
