"""When the compiled lane is used: once a process has seen enough records, and the code is ready.

Loading takes half a second, compiling some seconds, once per machine (``kept``). So few records never pay for it, and
it happens beside the interpreter, in a thread. Without numba, or without a folder for its cache,
the interpreter runs everything: the results are the same.

The environment variable ``DAGSTER_SMT_COMPILED`` says otherwise: ``off``, or ``now`` to have it from the first record.
"""

import logging
import os
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.compiled.eligibility import eligible
from dagster_smt.interpret.compiled.kept import NoFolderError, prepare
from dagster_smt.model.causes import log_causes

if TYPE_CHECKING:
    from dagster_smt.interpret.compiled.lane import Lane

VARIABLE = "DAGSTER_SMT_COMPILED"
ENOUGH = 5_000
"""Records that a process sees before it loads the lane."""
_log = logging.getLogger(__name__)


class _Loading:
    """One for the process: what it has seen, and how far loading is."""

    def __init__(self) -> None:
        self.seen = 0
        self.thread: threading.Thread | None = None
        self.lane: Any = None  # the class ``Lane``, once its code is ready

    def start(self, records: int) -> None:
        """Count records, and begin to load when they are enough."""
        self.seen += records
        mode = os.environ.get(VARIABLE, "")
        if self.thread is None and mode != "off" and (self.seen >= ENOUGH or mode == "now"):
            self.thread = threading.Thread(target=self._load, name="compiled lane", daemon=True)
            self.thread.start()
            if mode == "now":
                self.thread.join()

    def _load(self) -> None:
        try:
            if find_spec("numba") is None:
                return _tell(logging.INFO, "numba is not installed")
            prepare()
            from dagster_smt.interpret.compiled.lane import Lane, warm

            warm()
            self.lane = Lane
        except Exception as error:  # noqa: BLE001 whatever is wrong with it, the interpreter can do without
            log_causes(error)
            # texts of other exceptions are not ours: they might quote what is compiled, or paths
            why = str(error) if isinstance(error, NoFolderError) else type(error).__name__
            _tell(logging.INFO if isinstance(error, ImportError) else logging.WARNING, why)


def _tell(level: int, why: str) -> None:
    _log.log(level, "Records without a schema take three times as long, for there is no compiled code: %s", why)


_loading = _Loading()


class Waiting:
    """A chain's lane, as soon as there is one.

    Args:
        chain: Any chain; one that the lane cannot run never gets one.
        key_kind: The format of its keys.
    """

    def __init__(self, chain: Chain, key_kind: str):
        self.chain, self.key_kind, self.eligible = chain, key_kind, eligible(chain)
        self.made: Lane | None = None

    def lane(self, records: int) -> "Lane | None":
        """The lane; None: the interpreter has to run the next records, so many."""
        if not self.eligible:
            return None
        if self.made is None:
            _loading.start(records)
            if _loading.lane is not None:
                self.made = _loading.lane(self.chain, self.key_kind)
        return self.made
