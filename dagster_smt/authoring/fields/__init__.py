"""Fields of a record: resolving, reading and editing paths, in plans and in JSON."""
