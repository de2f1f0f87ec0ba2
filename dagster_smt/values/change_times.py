"""Debezium's types of times: the names of their schemas, and their units."""

TIME = "io.debezium.time."
TIMESTAMP, MICRO_TIMESTAMP, NANO_TIMESTAMP = (f"{TIME}{unit}Timestamp" for unit in ("", "Micro", "Nano"))
PRECISIONS = {TIMESTAMP: "milliseconds", MICRO_TIMESTAMP: "microseconds", NANO_TIMESTAMP: "nanoseconds"}
