"""Describes Kafka clusters and sends requests to their brokers. Records are read by ``sources.kafka`` and written by
``sinks.kafka``.
"""
