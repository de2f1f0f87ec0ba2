"""JSON whose schema is in a registry, as Confluent's ``JsonSchemaConverter`` reads and writes it."""
