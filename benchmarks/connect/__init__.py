"""Runs Kafka Connect's own worker, converters and transforms, to compare their times with Spark's. They use the same
machine and broker.
"""
