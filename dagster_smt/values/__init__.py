"""Value rules: each rule is one function of values, with its Python form and its Spark form next to each other.

A rule does not import pyspark: its ``column`` gets the namespace of functions as ``F``. If ``may_fail`` is true, the
Python form of a rule may raise ``DataError``, and its Spark form yields null for exactly the same values.
"""
