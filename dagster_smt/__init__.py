"""Kafka Connect's single message transforms, run by Spark, orchestrated by Dagster."""
