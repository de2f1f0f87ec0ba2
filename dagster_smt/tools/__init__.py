"""Tools of the project: the comparison with Kafka Connect, the reference pages, the gallery, the problem codes."""
