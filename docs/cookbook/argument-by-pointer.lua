sf.tool("mcp__tracker__*", { arg = "/issue/key" })
