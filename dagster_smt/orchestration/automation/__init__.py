"""Automation: sensors, schedules and jobs that repair."""
