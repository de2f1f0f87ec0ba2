"""The runs of tables inside Dagster steps: cancellation, progress, retries, and the events and reports after a run."""
