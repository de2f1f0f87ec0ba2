"""Value rules. Each rule computes a value from other values: in Python with its method ``python``, and on Spark with
its method ``column``, which returns a Spark column.

A rule does not import pyspark. Its method ``column`` receives Spark's functions as the argument ``F``. If the attribute
``may_fail`` is true, the method ``python`` may raise ``DataError`` for some values. On Spark, the method ``failed``
returns a condition that is true for exactly these values.
"""
