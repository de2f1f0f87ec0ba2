"""The effects of transforms, described as data. Two evaluators apply them: plans for records with a schema, and Python
functions for records without a schema.
"""
