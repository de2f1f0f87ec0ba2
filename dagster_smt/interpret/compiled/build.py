"""``python -m dagster_smt.interpret.compiled.build``: compile all code, and keep it."""

from dagster_smt.interpret.compiled import fields, lane
from dagster_smt.interpret.compiled.kept import finish


def warm() -> None:
    """Have all code compiled, or loaded from numba's cache.

    Raises:
        RuntimeError: There is no folder for the cache.
    """
    lane.warm()
    fields.warm()


if __name__ == "__main__":
    warm()
    finish()
