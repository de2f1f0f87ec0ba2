"""What the latest commit of a table says of it: everything that the next run has to know."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.model.offsets import OffsetSet
from dagster_smt.model.window import Window

FORMAT = 1
KEY = "dagster_smt"
REMEMBERED = 100
"""Runs that a table remembers: a retry after so many others is taken for a new request."""
MOST_FAILED = 2_000
"""Ranges of failed records that a table remembers one by one; a commit must not grow with them."""


@dataclass(frozen=True, slots=True)
class CommittedRun:
    """A run that committed, to be recognised when it is tried again.

    Attributes:
        key: Who ran: the orchestrator's run and step.
        request: Digest of what was asked for.
        number: Number of its commit.
        window: Id of its window.
        left_out: Topics that failed and were not committed.
    """

    key: str
    request: str
    number: int
    window: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a table after a commit of ours. Holds offsets, names and counts, never a field's value.

    Attributes:
        number: Number of the commit. It goes on where a table starts over, so that no two commits share one.
        attempt: Random name of the try that made this one: tells whose commit it is.
        kind: ``records`` or ``columns``.
        window: What this commit read.
        held: Offsets whose records the table has taken in (as rows, dropped, or as dead letters).
        gaps: Offsets that somebody chose to leave out for good.
        failed: Offsets of ``held`` whose records failed when they were last read.
        roughly: Whether ``failed`` names offsets with rows: those between failed ones, if there were more ranges than
            ``MOST_FAILED``; arrays of which some elements are rows.
        identities: Identity of each topic, as its source gives it.
        rows: Rows per topic.
        runs: The last runs, oldest first.
        dead_letters: Where a later run begins to look for letters that are there already, per partition of the topic
            of the letters: those before it are of records that the table has taken in.
        report: The run's report as JSON data.
    """

    number: int
    attempt: str
    kind: str
    window: Window = field(default_factory=Window)
    held: OffsetSet = field(default_factory=OffsetSet)
    gaps: OffsetSet = field(default_factory=OffsetSet)
    failed: OffsetSet = field(default_factory=OffsetSet)
    roughly: bool = False
    identities: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    runs: tuple[CommittedRun, ...] = ()
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def covered(self) -> OffsetSet:
        """What no run has to read any more."""
        return self.held | self.gaps

    def ends(self) -> dict[str, dict[str, int]]:
        """Where the prefix ends that is read without a break, per topic and partition."""
        found: dict[str, dict[str, int]] = {}
        for (topic, partition), intervals in sorted(self.covered.parts.items()):
            found.setdefault(topic, {})[str(partition)] = intervals[0][1]
        return found

    def ends_by_partition(self) -> dict[tuple[str, int], int]:
        """``ends`` as consumer groups have them."""
        return {(topic, int(p)): end for topic, parts in self.ends().items() for p, end in parts.items()}

    def committed(self, key: str, request: str) -> CommittedRun | None:
        """The commit that a run with this key and request made."""
        return next((r for r in reversed(self.runs) if key and (r.key, r.request) == (key, request)), None)

    def with_run(self, run: CommittedRun) -> "TableState":
        """The same with one more run to remember."""
        return replace(self, runs=(*self.runs, run)[-REMEMBERED:])

    def to_text(self) -> str:
        """As a commit keeps it."""
        data = {
            "format": FORMAT,
            "number": self.number,
            "attempt": self.attempt,
            "kind": self.kind,
            "window": self.window.to_json(),
            "held": self.held.to_json(),
            "gaps": self.gaps.to_json(),
            "failed": self.failed.to_json(),
            "roughly": self.roughly,
            "identities": dict(self.identities),
            "rows": dict(self.rows),
            "runs": [[r.key, r.request, r.number, r.window, list(r.left_out)] for r in self.runs],
            "dead_letters": dict(self.dead_letters),
            "report": dict(self.report),
        }
        return json.dumps({KEY: data}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> "TableState | None":
        """Read what ``to_text`` wrote; None for what others write into commits.

        Raises:
            ValueError: It is ours, but of another format or damaged.
        """
        if not text or not text.startswith('{"' + KEY + '":'):
            return None
        try:
            data = json.loads(text)[KEY]
            if data.pop("format") != FORMAT:
                raise ValueError("written by another version of this package")
            return cls(
                **{
                    **data,
                    "window": Window.from_json(data["window"]),
                    "held": OffsetSet.from_json(data["held"]),
                    "gaps": OffsetSet.from_json(data["gaps"]),
                    "failed": OffsetSet.from_json(data.get("failed", {})),
                    "runs": tuple(
                        CommittedRun(key, request, number, window, tuple(left_out))
                        for key, request, number, window, left_out in data["runs"]
                    ),
                }
            )
        except (KeyError, TypeError, AttributeError):
            raise ValueError("damaged") from None
