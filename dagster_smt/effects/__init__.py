"""The effects of transforms: their actions on a record, described as data. For records with a schema, effects are
applied in a plan. For records without a schema, they become Python functions.
"""
