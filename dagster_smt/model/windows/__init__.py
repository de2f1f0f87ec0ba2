"""Windows of a topic: offsets, divisions and time spans."""
