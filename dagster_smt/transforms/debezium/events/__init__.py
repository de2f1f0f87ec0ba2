"""Debezium's change events, for all Debezium transforms: shape, values, time types and examples."""
