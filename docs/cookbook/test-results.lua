local totals = sf.re("test result: \\w+\\. (\\d+) passed; (\\d+) failed")

sf.tool("Bash", {
	summary = function(result)
		local found = totals:find(result.text)
		return found and sf.text(`{found[1]} passed, {found[2]} failed`, "result.note")
	end,
})
