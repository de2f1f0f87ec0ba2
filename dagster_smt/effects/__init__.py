"""The effects of transforms as data, and their two evaluators: plans with a schema, Python functions without one."""
