"""Windows of topics: offsets, divisions and time spans."""
