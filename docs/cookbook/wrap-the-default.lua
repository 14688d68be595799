sf.tool("@edit", {
	result = function(result)
		if result.error then
			return nil
		end
		return { result:default(), sf.text("run the formatter", "muted") }
	end,
})
