"""Reports of a run: numbers, causes of errors, unmasked fields, and their Markdown."""
