"""Kafka Connect beside Spark: its own worker, converters and transforms on the same broker and machine."""
