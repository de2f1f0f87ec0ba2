"""The parts of TimezoneConverter: the temporal types of Debezium and their rules."""
