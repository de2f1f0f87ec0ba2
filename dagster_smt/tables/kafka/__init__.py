"""Describes Kafka clusters, and asks their brokers. Reading and writing are in ``sources.kafka`` and
``sinks.kafka``.
"""
