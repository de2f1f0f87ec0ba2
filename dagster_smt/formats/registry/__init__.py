"""The schema registry: client, wire format, and versions of subjects."""
