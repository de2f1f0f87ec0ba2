"""Tables with keys: from the records of a window to the changes of a table's rows."""
