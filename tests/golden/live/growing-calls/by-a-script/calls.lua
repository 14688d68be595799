sf.redact({ patterns = { ticket = "SHOP-[0-9]+" } })
sf.tool("Bash", {
	label = "sh",
	arg = function(input)
		return input.command
	end,
	summary = function(result)
		return result.error and "went wrong" or nil
	end,
})
sf.tool("@edit", {
	arg = function(input)
		return `{input.file_path} with {#input.new_string} bytes`
	end,
})
sf.view("reply", function(item)
	return { item:default(), sf.text(`{#item.text} bytes`) }
end)
sf.on("call", function(call)
	return sf.text(`{call.tool} is whole`)
end)
