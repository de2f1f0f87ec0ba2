"""Executes the runs of tables inside Dagster steps: cancellation, progress and retries, and the events and reports
after a run.
"""
