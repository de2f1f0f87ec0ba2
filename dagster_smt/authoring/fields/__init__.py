"""Fields of a record: paths resolved, read and edited, on a plan and in JSON texts."""
