-- The masks are data: the program carries them out on each text before it is cut and written.
local patterns = {}
for _, pattern in sf.options.patterns do
	patterns[#patterns + 1] = pattern
end

sf.redact({ secrets = true, emails = sf.options.emails, home = sf.options.home, patterns = patterns })
