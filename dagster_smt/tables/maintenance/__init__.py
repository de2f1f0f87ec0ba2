"""Maintenance of Delta and Iceberg tables: compaction, old versions, files that no version needs."""
