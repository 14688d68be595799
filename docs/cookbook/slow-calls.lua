sf.tool("*", {
	result = function(result)
		if not result.took or result.took < 10000 then
			return nil
		end
		return { result:default(), sf.text("took " .. sf.duration(result.took), "muted") }
	end,
})
