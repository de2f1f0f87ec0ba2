"""Accesses a schema registry: the client, the wire format, and the versions of subjects."""
