sf.redact({ patterns = { customer = "customer-(\\d+)" } })
