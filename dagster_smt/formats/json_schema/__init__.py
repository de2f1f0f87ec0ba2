"""JSON with a schema in a registry, as Confluent's ``JsonSchemaConverter`` reads and writes it."""
