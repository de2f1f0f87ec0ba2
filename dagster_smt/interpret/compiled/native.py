"""Functions that numba compiles to machine code, and the instructions it has no name for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dagster_smt.interpret.compiled.kept import folder

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def _kept_in(place: Path) -> Iterator[None]:
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def compiled(function: F) -> F:
    """Compile a function when it is first called.

    Raises:
        RuntimeError: There is no folder to keep compiled code in.
    """
    with _kept_in(folder()):
        # nothing here makes arrays or outlives a call, so none are counted: counting took 5/6 of the time
        made: F = numba.njit(cache=True, nogil=True, _nrt=False)(function)
    return made


@intrinsic
def word_at(typing_context: Any, data: Any, index: Any) -> Any:
    """Eight bytes of an array from an index on, the first one lowest; the caller makes sure that they are there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), code


@intrinsic
def low_zeros(typing_context: Any, word: Any) -> Any:
    """How many zeros a word that is not zero ends in."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), code


@intrinsic
def high_bit(typing_context: Any, word: Any) -> Any:
    """The number of the highest bit of a word that is not zero."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sub(ir.IntType(64)(63), builder.ctlz(arguments[0], ir.IntType(1)(1)))

    return types.int64(types.int64), code


@intrinsic
def copy_bytes(typing_context: Any, out: Any, at: Any, data: Any, start: Any, count: Any) -> Any:
    """Copy bytes from one array to another; the caller makes sure that there is room."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source = (
            builder.gep(context.make_array(signature.args[n])(context, builder, arguments[n]).data, [arguments[n + 1]])
            for n in (0, 2)
        )
        cgutils.raw_memcpy(builder, target, source, arguments[4], 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, data, types.int64, types.int64), code
