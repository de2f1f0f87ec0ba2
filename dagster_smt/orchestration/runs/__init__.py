"""Runs: their steps, cancellation, progress and retries, and what follows a run."""
