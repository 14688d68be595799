-- What runs a command, whichever agent it is and however it calls its tool.
sf.tool("@run", {
  -- The name of the tool, as it is shown. nil would leave it to the layer below.
  label = function(call, ctx)
    return ctx.options.mark
  end,

  -- What the call is about, in one line.
  arg = function(input)
    return input.command
  end,

  -- What came of it, in one line.
  summary = function(result)
    if result.error then return nil end
    return sf.span(sf.plural(sf.count_lines(result.text), "line"), "muted")
  end,
})
