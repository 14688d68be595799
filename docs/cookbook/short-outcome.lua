sf.view("outcome", function(outcome)
	if outcome.error then
		return nil
	end
	local took = sf.duration(outcome.data.duration_ms or 0)
	return sf.text(string.format("finished in %s for $%.2f", took, outcome.data.cost_usd or 0), "outcome")
end)
