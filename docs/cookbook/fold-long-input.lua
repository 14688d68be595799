sf.tool("Write", { collapse = "call" })
sf.tool("Bash", {
	result = function(result)
		if result.error or sf.count_lines(result.text) < 3 then
			return nil
		end
		return sf.details("output", { sf.code(result.text) })
	end,
})
