sf.tool("@read", {
	arg = function(input)
		return input.file_path and sf.basename(input.file_path)
	end,
})
