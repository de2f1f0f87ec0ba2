"""A lookup in a small Python mapping, as a column."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F


def lookup(values: Mapping[str, str | int] | Mapping[int, str], key: Column) -> Column:
    """Returns a column with the item of ``values`` for each ``key``; null for a key that ``values`` does not contain.

    The function uses ``element_at``. ``column[key]`` is not possible, because the Spark Connect client of Spark 3.5
    accepts only literals between the brackets.
    """
    if not values:
        return F.lit(None)
    literals = []
    for name, value in sorted(values.items()):
        literals += [F.lit(name), F.lit(value)]
    return F.element_at(F.create_map(*literals), key)
