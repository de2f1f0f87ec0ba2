"""What a run reports: numbers, causes, unmasked fields, and their Markdown."""
