"""Runs Kafka Connect's own worker, converters and transforms, to compare their times with Spark's. Kafka Connect and
Spark use the same machine and the same broker.
"""
