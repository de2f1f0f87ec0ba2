"""Maintains Delta and Iceberg tables: compacts files, and removes old versions and files that no version needs."""
