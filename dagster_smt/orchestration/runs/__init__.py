"""Runs: steps, guard, progress, retries and what follows a run."""
