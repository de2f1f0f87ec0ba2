"""Contains the parts of EventRouter: the columns of an outbox table, value rules, and the JSON payload."""
