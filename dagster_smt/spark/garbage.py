"""Pauses Python's cycle collector during batches. The collector would visit every container and find no cycle."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Pauses Python's cycle collector while the block runs. Records form no cycles, so reference counting alone frees
    each batch.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
