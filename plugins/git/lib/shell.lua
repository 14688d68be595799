-- Words of a simple shell command. What is more than that (pipes, lists, substitutions) is left to others.

local M = {}

-- The words, or nil if it is no simple command. A `cd FOLDER &&` in front is passed over, as are variables.
function M.words(command)
	if #command > 20000 then
		return nil
	end
	local rest = string.gsub(command, "^%s*cd%s+[%w%._/~%-]+%s*&&%s*", "")
	local words, at = {}, 1
	while true do
		at = string.find(rest, "[^ \t]", at)
		if not at then
			return words
		end
		local word = {}
		while at <= #rest do
			local ch = string.sub(rest, at, at)
			if ch == " " or ch == "\t" then
				break
			elseif ch == "'" or ch == '"' then
				local close = string.find(rest, ch, at + 1, true)
				if not close then
					return nil
				end
				local inside = string.sub(rest, at + 1, close - 1)
				-- A message that the shell puts together: the words of `$(cat <<'EOF' … EOF)` are the message.
				if ch == '"' and string.find(inside, "[`\\]") then
					return nil
				end
				if ch == '"' and string.find(inside, "$(", 1, true) then
					return nil
				end
				word[#word + 1] = inside
				at = close + 1
			elseif string.find(ch, "[;&|<>()`$\n\\]") then
				return nil
			else
				local stop = string.find(rest, "[ \t'\";&|<>()`$\n\\]", at) or #rest + 1
				word[#word + 1] = string.sub(rest, at, stop - 1)
				at = stop
			end
		end
		words[#words + 1] = table.concat(word)
	end
end

return M
