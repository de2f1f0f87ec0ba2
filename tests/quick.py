"""Parameters of which CI takes a few: the others are long, because they go ways that those few go, too."""

import pytest


def quick(values, *names):
    """``values`` as parameters; those that are not among ``names`` are long.

    A name that is no value would silently make CI's choice smaller, so it is refused.
    """
    values = list(values)
    unknown = [name for name in names if name not in values]
    if unknown or not names:
        raise ValueError(f"none of the values: {unknown}")
    return [pytest.param(value, marks=[] if value in names else [pytest.mark.long]) for value in values]
