sf.tool("Bash", {
	label = "sh",
	arg = "{command}",
})
