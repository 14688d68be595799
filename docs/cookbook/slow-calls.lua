local clock = sf.re("T(\\d+):(\\d+):(\\d+\\.?\\d*)")

local function seconds(item)
	local found = item.time and clock:find(item.time)
	return found and found[1] * 3600 + found[2] * 60 + found[3]
end

sf.tool("*", {
	result = function(result, call)
		local began, ended = call and seconds(call), seconds(result)
		local took = began and ended and (ended - began) % 86400
		if not took or took < 10 then
			return nil
		end
		return { result:default(), sf.text("took " .. sf.duration(took * 1000), "muted") }
	end,
})
