"""Python's cycle collector, kept away from batches: it looks at every container again and again, and finds nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the cycle collector. Records form no cycles: what a batch has made is gone when its last reference is."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
