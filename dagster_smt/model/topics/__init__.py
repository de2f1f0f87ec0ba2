"""Topics and tables as data: formats, columns, names and the state of a table."""
