"""The register of erased people, a table of keyed hashes. Runs read the register, and erasures append to it."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.key_references import KeyReference
from dagster_smt.model.topics.state import ErasedPersons
from dagster_smt.tables.erasure.matching import Erased
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Table

_SCHEMA = "kind STRING, key_id STRING, key_check STRING, reference STRING, erasure STRING, at TIMESTAMP"
_ENTRY = ("kind", "key_id", "reference")


class Register:
    """The register of erased people, opened with a Spark session."""

    def __init__(self, session: SparkSession, spec: SmtErasure):
        self.session, self.spec = session, spec
        self.table: Table = open_table(session, spec.register_table)

    @property
    def place(self) -> str:
        """The name of the register in messages."""
        return self.spec.register_table.place

    def erased(self) -> Erased:
        """Reads the erased people from the register. Each entry of the register states the kind of its id, such as
        ``person``. If this erasure has the kind ``person``, entries of all other kinds are ignored.

        Raises:
            TableError: SMT755, entries were written with a key that is missing from the key ring.
            ConfigError: SMT582, SMT740: a key cannot be read.
        """
        rows = []
        if self.table.schema() is not None:
            entries = self.table.read().where(F.col("kind") == self.spec.kind)
            rows = entries.select("key_id", "key_check", "reference").distinct().collect()
        keys = {key.id: key for key in self.spec.keys}
        checks = {(row.key_id, row.key_check) for row in rows}
        if unknown := sorted(key_id for key_id, check in checks if not _is_key(keys.get(key_id), check)):
            statement = (
                f"entries were made with the key {unknown[0]}, which erasure.key_ring does not have or has changed"
            )
            hint = f"add that key to the key ring: {unknown[0]}=${{env:NAME}}; a register needs all its keys"
            raise TableError(Problem("SMT755", self.place, statement, hint))
        hashes: dict[str, set[str]] = {}
        for row in rows:
            hashes.setdefault(row.key_id, set()).add(row.reference)
        own_keys = tuple(key for key in self.spec.keys if key.id in hashes)
        hashes_by_key = {}
        for key_id, own in hashes.items():
            hashes_by_key[key_id] = frozenset(own)
        return Erased(self.spec.kind, own_keys, hashes_by_key)

    def add(self, subjects: Mapping[str, str], key: KeyReference, erasure: str) -> None:
        """Adds each person in ``subjects`` to the register, unless the register already contains the person.

        Args:
            subjects: Maps the id of each person to the keyed hash of the id (``reference_of``). Only the hash
                is written.
            key: The key with which the hashes were computed.
            erasure: The name of the erasure.
        """
        now = datetime.now(timezone.utc)
        check = key.key().check
        rows = []
        for reference in sorted(set(subjects.values())):
            rows.append((self.spec.kind, key.id, check, reference, erasure, now))
        self.table.append_new(self.session.createDataFrame(rows, _SCHEMA), _ENTRY)


def _is_key(key: KeyReference | None, check: str) -> bool:
    return key is not None and key.key().check == check


def not_yet_erased(erased: Erased, subjects: Iterable[str]) -> set[str]:
    """Returns those ids in ``subjects`` whose people are not among ``erased``."""
    return {subject for subject in subjects if subject not in erased}


def check_register(place: str, noted: ErasedPersons | None, spec: SmtErasure | None, erased: Erased | None) -> None:
    """Raises an error if a run could bring erased people back into a table. A run leaves out the records of erased
    people, but for this, it needs the complete register.

    Args:
        place: The name of the table in messages.
        noted: The note about erasures in the table's state. None if no person has been erased from the table.
        spec: The erasure in the table's definition; None if the definition has none.
        erased: The people in the register; None if the definition has no erasure.

    Raises:
        TableError: SMT756, the definition has no erasure; SMT755, the register has lost entries.
    """
    if noted is None:
        return
    if spec is None or erased is None:
        raise _without_erasure(place, noted)
    if len(erased) < noted.persons:
        statement = f"the register {spec.register_table.place} has {len(erased)} of the {noted.persons} persons"
        hint = f"restore the register {noted.register}, or erase the people again"
        raise TableError(Problem("SMT755", place, statement, hint))


def _without_erasure(place: str, noted: ErasedPersons) -> TableError:
    statement = f"{noted.persons} people were erased from the table, but its definition has no erasure"
    hint = f"give the definition its erasure again: the register is {noted.register}"
    return TableError(Problem("SMT756", place, statement, hint))
