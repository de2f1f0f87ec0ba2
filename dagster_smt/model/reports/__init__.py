"""The reports of runs, erasures and table maintenance, the facts about a table, and helpers such as Markdown."""
