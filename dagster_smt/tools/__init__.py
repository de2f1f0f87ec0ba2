"""Contains the project's tools: the comparison with Kafka Connect, the reference pages, the gallery, the problem
codes."""
