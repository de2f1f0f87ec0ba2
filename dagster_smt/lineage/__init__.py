"""Lineage: the origin of each column, the stages that changed it, and the columns that contain tagged values."""
