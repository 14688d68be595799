-- Git commands as what they do; whatever else stands in a command line is left to the layers below.

-- Options by which git runs or writes something else: who uses them is told to the letter.
local TELLS = {}
for _, option in
	{ "--exec", "--upload-pack", "--receive-pack", "--output", "--config", "--template", "--ext-diff", "--textconv", "-x" }
do
	TELLS[option] = true
end

-- Splits the words behind `git` into the command, its plain arguments and its options.
local function parts(words)
	if words[1] ~= "git" then
		return nil
	end
	local at = 2
	local place = nil
	while words[at] == "-C" or words[at] == "--no-pager" do
		place = if words[at] == "-C" then words[at + 1] else place
		at += if words[at] == "--no-pager" then 1 else 2
	end
	local git = { verb = words[at], args = {}, options = {}, place = place }
	local index = at + 1
	while index <= #words do
		local word = words[index]
		local is_own = git.verb == "clone" and (word == "-c" or word == "-u")
		if is_own or TELLS[string.match(word, "^[^=]*")] then
			return nil
		end
		if word == "-m" or word == "--message" then
			git.message = git.message or words[index + 1]
			index += 1
		elseif word == "-b" or word == "-B" or word == "-c" or word == "-n" then
			git.options[word] = words[index + 1] or true
			index += 1
		elseif string.sub(word, 1, 1) == "-" then
			git.options[word] = true
			git.message = git.message or string.match(word, "^%-%-message=(.*)")
			if word == "-am" then
				git.message = words[index + 1]
				index += 1
			end
		else
			git.args[#git.args + 1] = word
		end
		index += 1
	end
	return git.verb and git
end

local function list(args)
	return table.concat(args, " ")
end

local DOES = {
	add = function(git)
		local all = git.options["-A"] or git.options["--all"] or git.args[1] == "."
		return "stage", if all then "everything" else list(git.args)
	end,
	commit = function(git)
		local verb = if git.options["--amend"] then "amend" else "commit"
		return verb, git.message and '"' .. sf.first_line(git.message) .. '"' or ""
	end,
	push = function(git)
		local verb = if git.options["-f"] or git.options["--force"] or git.options["--force-with-lease"]
			then "push by force"
			else "push"
		local remote, branch = git.args[1], git.args[2]
		return verb, if branch then `{branch} → {remote}` elseif remote then "→ " .. remote else ""
	end,
	pull = function(git)
		local remote, branch = git.args[1], git.args[2]
		return "pull", if branch then `{branch} ← {remote}` elseif remote then "← " .. remote else ""
	end,
	fetch = function(git)
		return "fetch", if git.args[1] then "← " .. list(git.args) else ""
	end,
	clone = function(git)
		return "clone", list(git.args)
	end,
	checkout = function(git)
		local new = git.options["-b"] or git.options["-B"]
		if type(new) == "string" then
			return "new branch", new
		end
		return "check out", list(git.args)
	end,
	switch = function(git)
		local new = git.options["-c"]
		return if type(new) == "string" then "new branch" else "switch to", if type(new) == "string" then new else list(git.args)
	end,
	merge = function(git)
		return "merge", list(git.args)
	end,
	rebase = function(git)
		return "rebase", if git.args[1] then "onto " .. list(git.args) else next(git.options) or ""
	end,
	reset = function(git)
		return if git.options["--hard"] then "reset, losing changes" else "reset", list(git.args)
	end,
	stash = function(git)
		return "stash", list(git.args)
	end,
	status = function()
		return "status", ""
	end,
	log = function(git)
		return "log", list(git.args)
	end,
	diff = function(git)
		return if git.options["--staged"] or git.options["--cached"] then "diff of what is staged" else "diff", list(git.args)
	end,
	show = function(git)
		return "show", list(git.args)
	end,
}

-- What the commands of an input do, one after the other; nil if one of them is another, or more than its words.
-- A `cd FOLDER &&` in front says where.
local function told(input)
	local command = input and input.command
	local commands = type(command) == "string" and sf.commands(command)
	if not commands then
		return nil
	end
	local steps, place = {}, nil
	for index, each in commands do
		local is_place = index == 1 and each.words[1] == "cd" and #each.words == 2 and #commands > 1
		place = if is_place then each.words[2] else place
		local git = parts(each.words)
		local does = git and DOES[git.verb]
		if not each.plain or each.before ~= nil and each.before ~= "&&" or not (does or is_place) then
			return nil
		end
		if does then
			local verb, about = does(git)
			if git.place then
				about = `{about}{if about ~= "" then " " else ""}in {git.place}`
			end
			steps[#steps + 1] = { git = git, verb = verb, about = about }
		end
	end
	return if #steps > 0 then steps else nil, place
end

local function count(text, pattern)
	local _, number = string.gsub(text, pattern, "")
	return number
end

-- What the output comes to, where that is less than the output.
local SUMS = {
	commit = function(text)
		local branch, hash = string.match(text, "%[([^%]%s]+)[^%]]- (%x+)%]")
		local files = string.match(text, "(%d+) files? changed")
		local added, removed = string.match(text, "(%d+) insertion"), string.match(text, "(%d+) deletion")
		if not hash then
			return nil
		end
		return `{hash} on {branch}`
			.. (files and " · " .. sf.plural(tonumber(files) or 0, "file") or "")
			.. (added and " +" .. added or "")
			.. (removed and " −" .. removed or "")
	end,
	push = function(text)
		local from, to, branch = string.match(text, "(%x+)%.%.%.?(%x+)%s+(%S+) %->")
		if from then
			return `{branch} {from} → {to}`
		end
		return string.match(text, "%[new branch%]%s+(%S+)") and "new branch" or string.match(text, "Everything up%-to%-date")
	end,
	status = function(text)
		local clean = string.find(text, "working tree clean", 1, true)
		local branch = string.match(text, "On branch (%S+)")
		if clean then
			return `{branch or "?"}: clean`
		end
		local changed = count(text, "\n[ \t]+modified:") + count("\n" .. text, "\n[ MARC][MD] ")
		local new = count("\n" .. text, "\n%?%? ") + count(text, "\n[ \t]+new file:")
		local gone = count(text, "\n[ \t]+deleted:")
		local words = {}
		for _, pair in { { changed, "changed" }, { new, "new" }, { gone, "deleted" } } do
			if pair[1] > 0 then
				words[#words + 1] = `{pair[1]} {pair[2]}`
			end
		end
		return #words > 0 and (branch and branch .. ": " or "") .. table.concat(words, ", ") or nil
	end,
	log = function(text)
		local commits = count("\n" .. text, "\ncommit %x%x%x%x%x%x%x")
		commits = if commits > 0 then commits else count("\n" .. text, "\n%x%x%x%x%x%x%x+ ")
		return commits > 0 and sf.plural(commits, "commit") or nil
	end,
	diff = function(text)
		local files = count("\n" .. text, "\ndiff %-%-git ")
		if files == 0 then
			return if text == "" then "no changes" else nil
		end
		local added = count("\n" .. text, "\n%+") - count("\n" .. text, "\n%+%+%+ ")
		local removed = count("\n" .. text, "\n%-") - count("\n" .. text, "\n%-%-%- ")
		return `{sf.plural(files, "file")} +{added} −{removed}`
	end,
}

sf.tool("@run", {
	call = function(call, ctx)
		local steps, place = told(call.input)
		if not steps or call.partial then
			return nil
		end
		local line = {}
		for index, step in steps do
			if index > 1 then
				line[#line + 1] = sf.span("·", "muted")
			end
			line[#line + 1] = sf.span(if index == 1 then "git " .. step.verb else step.verb, "tool.name")
			if step.about ~= "" then
				line[#line + 1] = sf.span(step.about, "call.arg")
			end
		end
		if place and place ~= ctx.session.cwd then
			line[#line + 1] = sf.span("in " .. place, "muted")
		end
		local header = sf.header(nil, line)
		if sf.options.command then
			return { header, sf.code(call.input.command, "sh", { role = "call.command" }) }
		end
		return header
	end,
	summary = function(result, call)
		if result.error or not call then
			return nil
		end
		-- The output of several commands tells which of them said what no more.
		local steps = told(call.input)
		local sum = steps and #steps == 1 and SUMS[steps[1].git.verb]
		local text = #result.text < 500000 and sum and sum(result.text)
		return text and sf.text(text, "result.note") or nil
	end,
})
