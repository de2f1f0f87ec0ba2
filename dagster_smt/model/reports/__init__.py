"""Parts of a run's report: numbers, causes of errors, unmasked fields, and their Markdown."""
