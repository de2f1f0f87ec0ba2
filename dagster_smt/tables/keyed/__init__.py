"""Tables with keys: turns the records of a window into changes of a table's rows."""
