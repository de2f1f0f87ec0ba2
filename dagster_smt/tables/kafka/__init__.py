"""Describes Kafka clusters and sends requests to their brokers. Reading and writing are in ``sources.kafka`` and
``sinks.kafka``.
"""
