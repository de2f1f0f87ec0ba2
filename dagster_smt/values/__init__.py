"""Value rules. Each rule computes a value from other values: in Python with its method ``python``, and on Spark with
its method ``column``, which returns a Spark column.

A rule does not import pyspark. Its method ``column`` receives Spark's functions as the argument ``F``. If ``may_fail``
is true, ``python`` may raise ``DataError``. For exactly the same values, the result of ``column`` is null.
"""
