-- The stream of `robo`, an invented agent: an object per line.
local action = { shell = "run", patch = "edit", open = "read" }

-- What a call does, in the names that all agents share (docs/facts.md). The input stays as it is.
local function does(op, args)
  if op == "shell" then return { command = args.cmd } end
  if op == "patch" then return { path = args.file, changes = { { old = args.before, new = args.after } } } end
  if op == "open" then return { path = args.file, range = { start = args.from } } end
end

sf.dialect("robo", {
  detect = function(sample) return sample[1] and sample[1].robo ~= nil and 1 or 0 end,
  ends_with_outcome = true,
  parse = function(o, ctx)
    if o.robo then
      return sf.item.session { agent = "robo", version = o.robo, id = o.session, model = o.model, cwd = o.cwd }
    elseif o.task then
      return sf.item.prompt { text = o.task, time = o.at }
    elseif o.say then -- a reply comes in pieces: the first one opens it
      local piece = sf.item.append { id = o.say, text = o.text }
      if ctx.state.reply == o.say then return piece end
      ctx.state.reply = o.say
      return { sf.item.reply { id = o.say, open = true, time = o.at }, piece }
    elseif o.said then
      return sf.item.close { id = o.said }
    elseif o["do"] then
      return sf.item.call {
        id = o["do"], tool = o.op, action = action[o.op], input = o.args, does = does(o.op, o.args), time = o.at,
      }
    elseif o.did then
      local failed = o.code ~= nil and o.code ~= 0
      return sf.item.result { call = o.did, text = o.out, error = failed, exit = failed and o.code or nil, time = o.at }
    elseif o.spent then
      return sf.item.usage { message = o.of, input = o.spent.read, output = o.spent.written }
    elseif o["end"] then
      return sf.item.outcome { error = o["end"] ~= "ok", text = o.why, duration_ms = o.ms, cost_usd = o.usd }
    elseif o.heartbeat then
      return false -- counted, not shown
    end
    -- Any other line is shown as it is, and counted as unknown.
  end,
})
