"""Logs the original errors that caused an error of this package, for debugging.

Dagster stores an error together with its cause (``__cause__``). If the cause is an error of Spark, of the JVM or of a
user's own class, its message may quote field values, which must not reach Dagster. So the errors of this package have
no cause. Python still keeps the original error in ``__context__``. If the log is switched on, the process writes the
original error to its standard error stream, but never to a log of Dagster.
"""

import logging
import os
import traceback
from collections.abc import Iterator

SWITCH = "DAGSTER_SMT_LOG_CAUSES"
"""The environment variable that switches the log on. Its value must be ``1``."""

_logger = logging.getLogger("dagster_smt.causes")
_logger.propagate = False  # Dagster may store everything that reaches the root logger


def log_causes(error: BaseException) -> None:
    """Writes the original errors that caused ``error`` to the standard error stream, if the log is switched on."""
    if os.environ.get(SWITCH) != "1":
        return
    if not _logger.handlers:
        _logger.addHandler(logging.StreamHandler())
    for cause in _causes(error):
        # chain=False, because each cause has an entry of its own in the log
        text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__, chain=False))
        _logger.error("behind %s:\n%s", type(error).__name__, text)


def _causes(error: BaseException) -> Iterator[BaseException]:
    # a chain of contexts can be a circle, in which a loop would never end
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
