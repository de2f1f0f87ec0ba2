"""The commit protocol of a Parquet sink: lock, intents, commits. Files of the local file system, no Spark.

    <root>/_smt/lock                   held by the one writer
    <root>/_smt/intents/<window>.json  a window that a run has taken and not committed yet
    <root>/_smt/commits/<number>.json  a committed window: its data files, what it replaces, its report
    <root>/data/<window>-<attempt>/    data files; those that no live commit names do not count

A commit appears in one step, as its file gets its name; whatever a dead run left behind is removed by the next one.
A run's data may be replaced (explicit window, rebuild): files of replaced commits are removed by the next run, so that
readers in flight can finish.
"""

import dataclasses
import json
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.window import Window
from dagster_smt.tables import local
from dagster_smt.tables.windows import overlaps

_COMMIT = re.compile(r"\d{20}\.json")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file: path relative to the sink's root, rows, size in bytes."""

    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Dead letters of a commit: staged with the commit, published after it.

    Attributes:
        root: Root of the file topics they go to.
        topic: The topic.
        connector: The connector's name in their headers.
        since: Its end before the commit: they cannot be at lower offsets.
        records: How many.
        staged: Folder with them until they are published, relative to the sink's root.
    """

    root: str
    topic: str
    connector: str
    since: int
    records: int
    staged: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A window that a run has taken.

    Attributes:
        id: Identifies this taking of the window; the commit repeats it.
        window: The window.
        explicit: It was asked for by its offsets and replaces committed windows.
        rebuild: It starts the table over.
        taken: When, in nanoseconds since the epoch; gives the order of replay.
    """

    id: str
    window: Window
    explicit: bool = False
    rebuild: bool = False
    taken: int = field(default_factory=time.time_ns)


@dataclass(frozen=True, slots=True)
class Commit:
    """A committed window.

    Attributes:
        number: Position in the log, from 1.
        intent: Id of the intent that it fulfils.
        attempt: Name of the data folder; also identifies the commit outside of the sink.
        window: The offsets it holds.
        kind: ``records`` or ``columns``.
        files: Its data files.
        schema: Spark's schema JSON of the data.
        replaces: Numbers of the commits that it replaces.
        dead_letters: Its dead letters, if any.
        run_id, request: Who asked, and for what: a retry is recognised by both.
        report: The run's report, as JSON data.
    """

    number: int
    intent: str
    attempt: str
    window: Window
    kind: str
    files: tuple[DataFile, ...] = ()
    schema: dict[str, Any] = field(default_factory=dict)
    replaces: tuple[int, ...] = ()
    dead_letters: DeadLetters | None = None
    run_id: str = ""
    request: str = ""
    report: dict[str, Any] = field(default_factory=dict)


def live(commits: Iterable[Commit]) -> list[Commit]:
    """The commits that no later one replaced."""
    commits = list(commits)
    gone = {n for c in commits for n in c.replaces}
    return [c for c in commits if c.number not in gone]


def progress(commits: Iterable[Commit]) -> dict[tuple[str, int], int]:
    """Where the committed windows end, per topic-partition. Pass the live commits."""
    found: dict[tuple[str, int], int] = {}
    for commit in commits:
        for r in commit.window.ranges:
            key = (r.topic, r.partition)
            found[key] = max(r.end, found.get(key, 0))
    return found


@dataclass(frozen=True)
class CommitLog:
    """The log of one sink. Everything but reading wants the lock."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "_smt"

    @property
    def _intents(self) -> Path:
        return self.folder / "intents"

    @property
    def _commits(self) -> Path:
        return self.folder / "commits"

    @contextmanager
    def locked(self, run_id: str) -> Iterator[None]:
        """Be the one writer while the block runs.

        Raises:
            TableError: SMT520 another run writes, SMT523 the folder holds something else.
        """
        if self.root.is_dir() and not self.folder.is_dir() and any(self.root.iterdir()):
            hint = "choose an empty or a new folder for the table"
            raise TableError(Problem("SMT523", str(self.root), "the folder holds files, but no table of ours", hint))
        for folder in (self._intents, self._commits, self.root / "data"):
            local.make_folder(folder)
        try:
            with local.locked(self.folder / "lock", run_id or "without an id", wait=False):
                yield
        except local.LockTaken as error:
            hint = "wait for it; a run that died holds no lock"
            raise TableError(Problem("SMT520", str(self.root), f"run {error} is writing this table", hint)) from None

    def commits(self) -> list[Commit]:
        """All commits in order, replaced ones too.

        Raises:
            TableError: SMT522, a commit file is damaged or missing.
        """
        paths = (
            sorted(p for p in self._commits.iterdir() if _COMMIT.fullmatch(p.name)) if self._commits.is_dir() else []
        )
        found = [_read_commit(p) for p in paths]
        for expected, commit in enumerate(found, 1):
            if commit.number != expected:
                raise TableError(_damaged(f"{expected:020d}.json", "is missing"))
        return found

    def intents(self) -> list[Intent]:
        """Windows taken and not committed, oldest first."""
        found = []
        for path in self._intents.glob("*.json"):
            data = json.loads(path.read_text(encoding="utf-8"))
            found.append(Intent(**{**data, "window": Window.from_json(data["window"])}))
        return sorted(found, key=lambda i: (i.taken, i.id))

    def take(self, window: Window, *, explicit: bool, rebuild: bool) -> Intent:
        """Write the intent for a window. A rebuild voids all intents, an explicit window those that it overlaps."""
        for other in self.intents():
            if rebuild or overlaps(window, other.window):
                self.drop(other)
        intent = Intent(secrets.token_hex(8), window, explicit, rebuild)
        data = {**dataclasses.asdict(intent), "window": window.to_json()}
        local.write_json(self._intents / f"{window.id}.json", data)
        return intent

    def drop(self, intent: Intent) -> None:
        """Forget an intent: its window is committed or voided."""
        (self._intents / f"{intent.window.id}.json").unlink(missing_ok=True)

    def new_attempt(self, window: Window) -> str:
        """A name for a data folder that no other attempt has, not even one whose writer is still dying."""
        return f"{window.id}-{secrets.token_hex(4)}"

    def data_folder(self, attempt: str) -> Path:
        return self.root / "data" / attempt

    def commit(self, commit: Commit) -> None:
        """Make a commit visible, in one step.

        Raises:
            TableError: SMT528, the number is taken: somebody writes without the lock.
        """
        data = {**dataclasses.asdict(commit), "window": commit.window.to_json()}
        try:
            local.write_json(self._commits / f"{commit.number:020d}.json", data, exclusive=True)
        except FileExistsError:
            hint = "this file system does not honour locks: let one run at a time write the table"
            raise TableError(Problem("SMT528", str(self.root), "another writer committed meanwhile", hint)) from None

    def clean(self) -> None:
        """Remove what dead runs left: fulfilled intents, temporary files, data that no live commit names."""
        commits = self.commits()
        fulfilled = {c.intent for c in commits}
        for intent in self.intents():
            if intent.id in fulfilled:
                self.drop(intent)
        for path in [*self._intents.glob(".*.tmp"), *self._commits.glob(".*.tmp")]:
            path.unlink()
        kept = {c.attempt for c in live(commits)}
        for folder in (self.root / "data").iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)  # a dying Spark may still write; the next run gets the rest


def _read_commit(path: Path) -> Commit:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        letters = data["dead_letters"]
        changes = {
            "window": Window.from_json(data["window"]),
            "files": tuple(DataFile(**f) for f in data["files"]),
            "replaces": tuple(data["replaces"]),
            "dead_letters": DeadLetters(**letters) if letters else None,
        }
        commit = Commit(**{**data, **changes})
    except (ValueError, KeyError, TypeError):
        raise TableError(_damaged(path.name, "cannot be read")) from None
    if f"{commit.number:020d}.json" != path.name:
        raise TableError(_damaged(path.name, "has another file's name"))
    return commit


def _damaged(name: str, statement: str) -> Problem:
    hint = "restore the folder from a backup, or remove the whole table and read the topics again"
    return Problem("SMT522", f"_smt/commits/{name}", f"the commit file {statement}", hint)
