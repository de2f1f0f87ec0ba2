"""Value rules: one function on values each, in a Python form and in a Spark form next to each other.

A rule never sees pyspark: its ``column`` receives the functions namespace ``F``. A rule whose ``may_fail`` is true
raises ``DataError`` in its Python form, and yields null in its Spark form exactly where a non-null input failed.
"""
