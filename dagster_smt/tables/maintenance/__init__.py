"""Maintenance of Delta and Iceberg tables: compaction, and removal of old versions and of files that no version
needs.
"""
