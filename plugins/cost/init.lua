-- Tells the tokens used so far every now and then, and at the end the tools that were used and what it cost.

local function thousands(number)
	return if number < 1000 then tostring(number) else string.format("%.1fk", number / 1000)
end

local function guessed(usage)
	local options = sf.options
	local dollars = (usage.input * options.input_price + usage.output * options.output_price) / 1000000
	return if dollars > 0 then string.format(" · ~$%.2f", dollars) else ""
end

local function told(usage)
	local read = usage.input + usage.cache_read + usage.cache_write
	return `{thousands(read)} tokens in, {thousands(usage.output)} out{guessed(usage)}`
end

sf.on("session.start", function(_, ctx)
	ctx.state.next = sf.options.every
	ctx.state.calls = {}
	ctx.state.failed = 0
end)

sf.on("call", function(call, ctx)
	local tool = call.name or "?"
	ctx.state.calls[tool] = (ctx.state.calls[tool] or 0) + 1
end)

sf.on("result", function(result, ctx)
	if result.error then
		ctx.state.failed += 1
	end
	local usage = ctx.session.usage
	if sf.options.every > 0 and usage.output >= ctx.state.next then
		ctx.state.next = usage.output + sf.options.every
		return sf.text("so far: " .. told(usage), "muted")
	end
end)

sf.on("outcome", function(outcome, ctx)
	local usage = outcome.data.usage
	local cost = outcome.data.cost_usd
	local rows = {}
	for tool, count in sf.sorted(ctx.state.calls) do
		rows[#rows + 1] = `{tool} {count}`
	end
	local lines = {}
	if #rows > 0 then
		local failed = if ctx.state.failed > 0 then ` · {ctx.state.failed} failed` else ""
		lines[#lines + 1] = sf.text("tools: " .. table.concat(rows, ", ") .. failed, "muted")
	end
	if usage then
		local text = `tokens: {thousands(usage.input or 0)} new, {thousands(usage.cache_read or 0)} from cache, `
			.. `{thousands(usage.cache_write or 0)} to cache, {thousands(usage.output or 0)} out`
		lines[#lines + 1] = sf.text(text, "muted")
	end
	if cost then
		lines[#lines + 1] = sf.text(string.format("cost: $%.4f", cost), "muted")
	end
	return lines
end)
