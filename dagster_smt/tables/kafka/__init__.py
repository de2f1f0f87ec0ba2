"""Kafka: how a cluster is described and asked. Reading and writing are in ``sources.kafka`` and ``sinks.kafka``."""
