"""The report of an erasure. For each location, it states the action, and whether the scan proved that no value is left.
No report names a person.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from dagster_smt.errors import Problem
from dagster_smt.model.reports.markdown import fenced, plain, table

PlaceKind = Literal["table", "dead letters", "topic"]
Action = Literal["deleted", "re-keyed", "emptied", "tombstones sent", "nothing to do", "nothing"]


@dataclass(frozen=True, slots=True)
class Residue:
    """The values of erased people that are left in one location.

    Attributes:
        where: The kind of file or record that contains the values, such as ``statistics in the log``.
        file: The name of the file or partition, which never contains a value.
        count: The number of values.
        remedy: How to remove the values.
    """

    where: str
    file: str
    count: int
    remedy: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The files and records that the last step of an erasure has read, in search of values of the erased people.

    Attributes:
        files: The number of files.
        bytes: The size of the files.
        records: The number of records that were read from topics.
        whole: True if everything was read; False if a file could not be read.
        unread: The files that could not be read, each with the reason.
    """

    files: int = 0
    bytes: int = 0
    records: int = 0
    whole: bool = True
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class ErasedPlace:
    """The result of an erasure in one location.

    Attributes:
        asset: The asset that writes to the location.
        kind: ``table``, ``dead letters`` or ``topic``. If a second table remembers the deleted keys of a table, the
            result of the kind ``table`` covers both tables.
        place: The table, or the topic with its cluster or folder.
        action: The action on the rows or records, such as ``deleted``.
        rows: The number of rows or records.
        rounds: How often the rows were searched. They are searched again if a run committed in the meantime.
        past: Lines about the old versions of the table, such as their removal.
        residue: The values that are left.
        scan: The files and records that were read to find the residue; None if nothing was read.
        waits: Lines about values that will be removed later without further action, for example by a topic's retention.
        problems: The failures.
    """

    asset: str
    kind: PlaceKind
    place: str
    action: Action = "nothing"
    rows: int = 0
    rounds: int = 1
    past: tuple[str, ...] = ()
    residue: tuple[Residue, ...] = ()
    scan: Scan | None = None
    waits: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def proven(self) -> bool:
        """True if everything was read, and no value is left."""
        return self.scan is not None and self.scan.whole and not (self.residue or self.waits or self.problems)

    @property
    def verdict(self) -> str:
        """A phrase with the result."""
        if self.problems:
            return f"failed: {', '.join(dict.fromkeys(p.code for p in self.problems))}"
        if self.scan is None:
            return "not proven: nothing was read"
        if self.residue:
            return f"{sum(one.count for one in self.residue)} values are left"
        if self.waits:
            return "waits for retention"
        if not self.scan.whole:
            return "not proven: some files could not be read"
        return "no value is left"


@dataclass(frozen=True)
class ErasureReport:
    """The report of one erasure.

    Attributes:
        erasure: The random name of the erasure, which the register also contains.
        millis: The time, in milliseconds since the epoch.
        run: The orchestrator's run and step.
        kinds: The kinds of the erased ids, such as ``person``.
        persons: The number of ids.
        new: The number of ids that were new to the registers.
        short: The number of ids that are short numbers. The scan searched for them only in fields that name a person,
            because such a number may mean anything in other fields.
        registers: The registers that remember the erased people.
        places: The result of the erasure in each location.
        not_covered: Locations that this package does not know or cannot reach.
    """

    erasure: str
    millis: int
    run: str
    kinds: tuple[str, ...]
    persons: int
    new: int
    short: int
    registers: tuple[str, ...]
    places: tuple[ErasedPlace, ...] = ()
    not_covered: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """True if no value is left in any location."""
        return bool(self.places) and all(place.proven for place in self.places)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all locations."""
        return tuple(dict.fromkeys(problem for place in self.places for problem in place.problems))

    @property
    def rows(self) -> int:
        """The number of rows and records that the erasure removed or changed."""
        return sum(place.rows for place in self.places)

    @property
    def residue(self) -> int:
        """The number of values that are left."""
        return sum(one.count for place in self.places for one in place.residue)

    def to_data(self) -> dict[str, Any]:
        """Returns the report as JSON data."""
        places = [{**asdict(place), "proven": place.proven, "verdict": place.verdict} for place in self.places]
        return {**asdict(self), "at": _moment(self.millis), "proven": self.proven, "places": places}

    def to_json(self) -> str:
        """Returns the report as JSON."""
        return json.dumps(self.to_data(), indent=2)

    def to_markdown(self) -> str:
        """Returns the report as Markdown, for people."""
        verdict = "no value is left" if self.proven else "not everything is proven: see the places"
        head = [
            f"# Erasure {self.erasure}",
            f"{_moment(self.millis)}: {self.persons} ids ({self.new} new to the register), {self.rows} rows and "
            f"records. Result: **{verdict}**.",
        ]
        rows = [["place", "what", "done", "rows", "files read", "records read", "result"]]
        for place in self.places:
            scan = place.scan or Scan()
            files = f"{scan.files:,} ({scan.bytes:,} bytes)"
            cells = [place.place, f"{place.kind} of {place.asset}", place.action]
            rows.append([*map(plain, cells), f"{place.rows:,}", files, f"{scan.records:,}", place.verdict])
        parts = [*head, table(rows), *_details(self.places)]
        if self.short:
            parts.append(
                f"{self.short} ids are short. The scan searched for them only where a person is named, because the "
                "same text elsewhere may be anything else."
            )
        if self.not_covered:
            parts.append("Not covered:\n\n" + "\n".join(f"- {plain(line)}" for line in self.not_covered))
        return "\n\n".join(parts) + "\n"


def _details(places: Sequence[ErasedPlace]) -> list[str]:
    parts = []
    for place in places:
        lines = [f"old versions: {line}" for line in place.past]
        lines += [f"left: {one.count} in {one.where}, {one.file}: {one.remedy}" for one in place.residue]
        lines += [f"waits: {line}" for line in place.waits]
        for line in place.scan.unread if place.scan is not None else ():
            lines.append(f"not read: {line}")
        lines += map(str, place.problems)
        if lines:
            parts.append(f"## {plain(place.place)}\n\n{fenced(lines)}")
    return parts


def _moment(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
