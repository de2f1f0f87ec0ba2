"""Windows of topics: their offsets, their divisions, and time spans."""
