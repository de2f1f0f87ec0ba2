"""Effects of transforms as data, and what reads them: planning with a schema, Python without one."""
