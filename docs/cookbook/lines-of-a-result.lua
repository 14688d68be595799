sf.tool("Bash", {
	summary = function(result)
		if result.error then
			return nil
		end
		return sf.text(sf.plural(sf.count_lines(result.text), "line"), "result.note")
	end,
})
