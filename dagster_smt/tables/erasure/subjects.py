"""Reads the ids of the people to erase from a file, an environment variable, or a table. The ids are never shown."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.tables.topic_table import TableSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_SUBJECTS = 10_000
"""The largest number of people in one erasure. The driver holds all ids in memory, and searches every file for each of
them.
"""


@dataclass(frozen=True)
class SubjectSource:
    """The source of people's ids. Exactly one of ``file``, ``environment`` and ``table`` is set.

    Attributes:
        file: A text file with an id on each line.
        environment: An environment variable of the step, with an id on each line.
        table: A table with the ids.
        column: The column of the table that holds the ids.
    """

    file: str = ""
    environment: str = ""
    table: TableSource | None = None
    column: str = ""

    def __post_init__(self) -> None:
        chosen = [place for place in (self.file, self.environment, self.table) if place]
        if len(chosen) != 1 or bool(self.table) != bool(self.column):
            hint = "use file: PATH, or environment: NAME, or table: {name: …, column: …}"
            raise ConfigError(Problem("SMT757", "subjects", "is not one place with ids", hint))

    def ids(self, session: "SparkSession") -> frozenset[str]:
        """Returns the ids of the people, without surrounding spaces. If ``table`` is set, ``session`` reads the ids.

        Raises:
            ConfigError: SMT757, there are no ids, there are too many, or they cannot be read.
        """
        ids = frozenset(filter(None, (text.strip() for text in self._texts(session))))
        if not ids:
            raise self._unusable("has no id")
        if len(ids) > MOST_SUBJECTS:
            raise self._unusable(f"has more than {MOST_SUBJECTS} ids; erase them in several launches")
        return ids

    @property
    def place(self) -> str:
        """The name of the file, environment variable or table in messages."""
        if self.table is not None:
            return f"subjects table {self.table.place}"
        return f"subjects file {self.file}" if self.file else f"subjects environment {self.environment}"

    def _texts(self, session: "SparkSession") -> Iterable[str]:
        if self.file:
            try:
                return Path(self.file).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                raise self._unusable("cannot be read as a text") from None
        if self.environment:
            text = os.environ.get(self.environment, "")
            try:
                text.encode()  # os.environ turns bytes that are not UTF-8 into halves of surrogate pairs
            except UnicodeEncodeError:
                raise self._unusable("cannot be read as a text") from None
            return text.splitlines()
        assert self.table is not None
        from dagster_smt.spark.sql import quoted  # loads PySpark

        rows = session.table(self.table.name) if self.table.name else self._by_path(session, self.table)
        # one id more than permitted, so that ``ids`` notices that there are too many
        ids = rows.selectExpr(f"CAST({quoted(self.column)} AS STRING) AS id").distinct().limit(MOST_SUBJECTS + 1)
        texts = []
        for row in ids.collect():
            if row.id is not None:
                texts.append(row.id)
        return texts

    def _by_path(self, session: "SparkSession", table: TableSource) -> "DataFrame":
        return session.read.format(table.format).load(table.path)

    def _unusable(self, statement: str) -> ConfigError:
        hint = "write one id on each line; messages and logs never show them"
        return ConfigError(Problem("SMT757", self.place, statement, hint))
