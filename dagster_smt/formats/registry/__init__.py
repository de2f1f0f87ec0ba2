"""The schema registry: its client, the wire format and the versions of subjects."""
