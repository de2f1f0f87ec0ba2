"""Windows (the ranges of offsets that a run reads), their division among time partitions, and time spans."""
