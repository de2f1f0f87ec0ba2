"""Debezium's change events: their shape, values, temporal types and examples, for the transforms of this folder."""
