local function nothing()
	return false
end

sf.tool("TodoWrite", { call = nothing, result = nothing })
sf.view("plan", nothing)
