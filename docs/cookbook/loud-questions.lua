sf.view("reply", function(reply)
	if string.sub(reply.text, -1) == "?" then
		return { sf.prose(reply.text), sf.note("warning", "waits for an answer") }
	end
end)
