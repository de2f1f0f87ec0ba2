"""Debezium's change events: their shape, values, types of times and examples, for all transforms of Debezium."""
