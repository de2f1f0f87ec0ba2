"""The launch of a run: the run config with its options, code versions and time partitions."""
