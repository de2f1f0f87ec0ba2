"""Debezium's change events: their shape, values and examples, for the transforms of this folder."""
