"""Sensors and schedules that start runs, and jobs that repair tables."""
