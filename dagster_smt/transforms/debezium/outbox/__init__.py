"""The parts of EventRouter: the shape of an outbox table, its values and its JSON payload."""
