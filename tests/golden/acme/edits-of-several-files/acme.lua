-- A dialect whose lines are `{"use":…}` and `{"done":…}`.
sf.dialect("acme", {
  detect = function() return 1 end,
  parse = function(o)
    if o.cwd then return sf.item.session { agent = "acme", cwd = o.cwd } end
    if o.use then return sf.item.call { id = o.use, tool = "patch", action = "edit", input = o.input } end
    if o.done then
      return sf.item.result { call = o.done, text = o.text, error = o.failed, success = o.ok, changes = o.changes }
    end
  end,
})
