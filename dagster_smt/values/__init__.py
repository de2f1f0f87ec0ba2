"""Value rules. Each rule computes a value from other values, and has a Python form and a Spark form.

A rule does not import pyspark. Its method ``column`` receives Spark's functions as the argument ``F``. If ``may_fail``
is true, the Python form of a rule may raise ``DataError``, and its Spark form results in null for exactly the same
values.
"""
