-- Commands of clusters and containers as what they do: who does it first, then what to what, then where.

-- Options that a value follows.
local TAKES = {}
for _, option in
	{
		"-n", "--namespace", "--context", "-c", "--container", "-l", "--selector", "-f", "--filename", "-o", "--output",
		"--tail", "--since", "--name", "-e", "--env", "-p", "--publish", "-v", "--volume", "-t", "--tag", "--network",
		"-w", "--workdir", "-u", "--user", "--replicas", "--image", "--type", "--file", "--project-name", "--profile",
		"--kubeconfig", "--entrypoint", "--mount", "--label", "--set", "--values", "--version", "--build-arg",
		"--platform", "--target", "--timeout", "--memory", "--cpus", "-H", "--host",
	}
do
	TAKES[option] = true
end

-- The words of a command line that is one plain command, and the folder if a `cd FOLDER &&` stands in front.
local function words_of(line)
	local commands = sf.commands(line) or {}
	local last = commands[#commands]
	for _, command in commands do
		if not command.plain then
			return nil
		end
	end
	if #commands == 2 and commands[1].words[1] == "cd" and #commands[1].words == 2 and last.before == "&&" then
		return last.words, commands[1].words[2]
	end
	return if #commands == 1 then last.words else nil
end

-- Nothing of who runs it (`sudo`) or with which environment (`KUBECONFIG=…`) is left out: such a line stays as it is.
local function read(command)
	local words, folder = words_of(command)
	if not words or #words < 2 then
		return nil
	end
	local told = { program = words[1], args = {}, options = {}, rest = nil, folder = folder }
	local index = 2
	while index <= #words do
		local word = words[index]
		if word == "--" then
			told.rest = table.concat(words, " ", index + 1)
			break
		end
		local name, value = string.match(word, "^(%-%-[%w%-]+)=(.*)$")
		if name then
			told.options[name] = value
		elseif string.sub(word, 1, 1) == "-" then
			told.options[word] = true
			if TAKES[word] then
				told.options[word] = words[index + 1] or true
				index += 1
			end
		else
			told.args[#told.args + 1] = word
		end
		index += 1
	end
	return told
end

local function join(args, from)
	return table.concat(args, " ", math.min(from, #args + 1))
end

local function option(told, short, long)
	local value = told.options[short] or told.options[long]
	return if type(value) == "string" then value else nil
end

local VERBS = {
	get = "look at",
	describe = "describe",
	logs = "logs of",
	apply = "apply",
	delete = "DELETE",
	rollout = "rollout",
	scale = "scale",
	exec = "in",
	run = "run",
	build = "build",
	pull = "pull",
	push = "push",
	ps = "containers",
	images = "images",
	up = "start",
	down = "stop and remove",
	stop = "stop",
	rm = "REMOVE",
	rmi = "REMOVE image",
	restart = "restart",
	install = "install",
	upgrade = "upgrade",
	uninstall = "UNINSTALL",
	["port-forward"] = "forward",
}

local PROGRAMS = {
	kubectl = "kubectl",
	k = "kubectl",
	oc = "oc",
	helm = "helm",
	docker = "docker",
	podman = "podman",
	["docker-compose"] = "compose",
}

local function told(command)
	local cmd = read(command)
	local program = cmd and PROGRAMS[cmd.program]
	if not program then
		return nil
	end
	local args, first = cmd.args, 1
	if program == "docker" and args[1] == "compose" then
		program, first = "compose", 2
	elseif args[1] == "container" or args[1] == "image" then
		first = 2
	end
	local verb = VERBS[args[first]]
	if not verb then
		return nil
	end
	local what = join(args, first + 1)
	local kind = args[first]
	if kind == "apply" or kind == "delete" and what == "" then
		what = option(cmd, "-f", "--filename") or option(cmd, "-k", "--kustomize") or what
	elseif kind == "build" then
		what = option(cmd, "-t", "--tag") or what
	elseif kind == "scale" then
		what ..= " to " .. (option(cmd, "--replicas", "--replicas") or "?")
	end
	if cmd.rest then
		what ..= ": " .. cmd.rest
	elseif kind == "exec" and #args > first + 1 then
		what = args[first + 1] .. ": " .. join(args, first + 2)
	end
	local where = {}
	if sf.options.context and (program == "kubectl" or program == "oc" or program == "helm") then
		where[#where + 1] = option(cmd, "--context", "--context")
		where[#where + 1] = if cmd.options["-A"] or cmd.options["--all-namespaces"]
			then "all namespaces"
			else option(cmd, "-n", "--namespace")
	end
	return program, verb, what, { at = table.concat(where, "/"), folder = cmd.folder }, kind
end

local function count_rows(text, header)
	local lines = sf.count_lines(text)
	return if string.find(text, header) then math.max(lines - 1, 0) else nil
end

sf.tool("@run", {
	call = function(call, ctx)
		local command = call.input and call.input.command
		if type(command) ~= "string" or call.partial then
			return nil
		end
		local program, verb, what, where = told(command)
		if not program then
			return nil
		end
		local is_danger = verb == string.upper(verb)
		local line = { sf.span(program, "tool.name"), sf.span(string.lower(verb), if is_danger then "notice.warning" else "call.action") }
		if what ~= "" then
			line[#line + 1] = sf.span(sf.truncate(what, 120), "call.arg")
		end
		if where.at ~= "" then
			line[#line + 1] = sf.span("@ " .. where.at, "muted")
		end
		if where.folder and where.folder ~= ctx.session.cwd then
			line[#line + 1] = sf.span("in " .. where.folder, "muted")
		end
		return sf.header(nil, line)
	end,
	summary = function(result, call)
		local command = call and not result.error and call.input and call.input.command
		local program, _, _, _, kind = told(if type(command) == "string" then command else "")
		local text = result.text
		if not program or #text > 500000 then
			return nil
		end
		if kind == "get" then
			local rows = count_rows(text, "^NAME")
			local bad = 0
			for line in string.gmatch(text, "[^\n]+") do
				if string.find(line, "CrashLoop") or string.find(line, "Error") or string.find(line, "ImagePull") then
					bad += 1
				end
			end
			return rows and bad == 0 and sf.text(sf.plural(rows, "row"), "result.note") or nil
		elseif kind == "ps" then
			local rows = count_rows(text, "^CONTAINER ID") or count_rows(text, "^NAME")
			return rows and sf.text(sf.plural(rows, "container"), "result.note") or nil
		end
		return nil
	end,
})
