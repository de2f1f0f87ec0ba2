"""Take-over: runs of this package go on in the table of a connector, and the connector can go on after the runs."""
