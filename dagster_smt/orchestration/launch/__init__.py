"""Launches: the run config, the options in it, code versions and time partitions."""
