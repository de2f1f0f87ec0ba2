"""Parses Flink's and ksqlDB's ``CREATE TABLE`` and ``CREATE STREAM`` statements into topic tables.

Nothing in a statement is ignored: a clause or option that this package does not support is an error that names the
clause or option. Names keep their case, also in ksqlDB's statements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from sqlglot.tokens import TokenType

from dagster_smt.errors import ConfigError
from dagster_smt.model.topics.columns import Column
from dagster_smt.tables.ddl import Skip
from dagster_smt.tables.rows.column_texts import RowParser, sql_tokens

_SYNTAX = "write: CREATE TABLE name (columns) WITH ('connector' = 'kafka', 'topic' = '…', …)"
_AFTER = {
    "PARTITIONED BY": "set partition_by of the sink: a statement describes topics",
    "DISTRIBUTED": "the chain's routers place records",
    "LIKE": "write the columns out",
    "AS": "a chain makes a table of another one: give the statement of its source, and stages",
    "EMIT": "leave it out",
}
_KINDS = ("TABLE", "STREAM")
_PSEUDO = {"ROWTIME": "timestamp", "ROWPARTITION": "partition", "ROWOFFSET": "offset"}
"""Maps each pseudo column of ksqlDB to the metadata of a record that it stands for."""


@dataclass(frozen=True)
class Statement:
    """A parsed statement.

    Attributes:
        name: The table's name.
        columns: The columns.
        keys: The columns that ksqlDB's ``KEY`` puts into the key.
        options: The options in ``WITH``, with keys as written.
    """

    name: str
    columns: tuple[Column, ...] = ()
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Parser(RowParser):
    syntax: ClassVar[str] = _SYNTAX
    stream: bool = False

    def statement(self) -> Statement:
        try:
            return self._statement()
        except Skip:
            raise ConfigError(self.problems) from None

    def _statement(self) -> Statement:
        self.expect(TokenType.CREATE, "CREATE")
        while (word := self.word()) not in _KINDS:
            if word == "OR":
                self.refuse("OR REPLACE", "leave it out: nothing is kept of a statement")
            if word not in ("TEMPORARY", "SOURCE"):
                self.fail("CREATE TABLE or CREATE STREAM is expected")
            self.at += 1
        self.stream = word == "STREAM"
        self.at += 1
        if self.word() == "IF":
            self.at += 3
        name = self.dotted_name()
        columns: list[Column] = []
        if self.take(TokenType.L_PAREN):
            columns = self.columns(until=TokenType.R_PAREN)
            self.expect(TokenType.R_PAREN, ") after the columns")
        options = self.clauses()
        if self.problems:
            raise ConfigError(self.problems)
        return Statement(name, tuple(columns), tuple(self.keys), options)

    def row_column(self) -> Column:
        """Parses a column as ``RowParser`` does. In a stream, a column must not have the name of a ksqlDB pseudo
        column.
        """
        token, word = self.now, self.word()
        column = super().row_column()
        if self.stream and word in _PSEUDO and column.source is None:
            hint = f"declare it METADATA FROM '{_PSEUDO[word]}', or put the name of a field into backticks"
            self.note("SMT267", f"{word} is a pseudo column of ksqlDB, not a field", hint, token)
        return column

    def dotted_name(self) -> str:
        parts = [self.name()]
        while self.take(TokenType.DOT):
            parts.append(self.name())
        return ".".join(parts)

    def clauses(self) -> dict[str, str]:
        """Parses the clauses after the column list. Returns the options in ``WITH``."""
        options: dict[str, str] = {}
        while self.now is not None and not self.take(TokenType.SEMICOLON):
            word = self.word()
            if word in _AFTER:
                self.refuse(word, _AFTER[word])
            self.at += 1
            if word == "COMMENT":
                self.quoted_text("COMMENT")
            elif word == "WITH":
                options.update(self.options())
            else:
                self.at -= 1
                self.fail("COMMENT or WITH is expected")
        if self.now is not None:
            self.fail("one statement is expected, there is something after it")
        return options

    def options(self) -> dict[str, str]:
        values: dict[str, str] = {}
        self.expect(TokenType.L_PAREN, "( after WITH")
        while not self.take(TokenType.R_PAREN):
            key = self.option_text("an option's name")
            self.expect(TokenType.EQ, f"= after {key}")
            if key in values:
                self.note("SMT252", f"option '{key}' appears twice", "give each option once")
            values[key] = self.option_text(f"the value of {key}")
            if not self.take(TokenType.COMMA) and (self.now is None or self.now.token_type is not TokenType.R_PAREN):
                self.fail(f"a comma or ) is expected after the value of {key}")
        return values

    def option_text(self, what: str) -> str:
        token = self.now
        if token is None or token.token_type in (TokenType.EQ, TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN):
            self.fail(f"{what} is expected")
        self.at += 1
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return token.text
        return self.spelling(token)


def parse_statement(text: str, place: str = "statement") -> Statement:
    """Parses ``text`` as a ``CREATE TABLE`` or ``CREATE STREAM`` statement.

    Args:
        text: The statement.
        place: The name of the statement in messages.

    Raises:
        ConfigError: All problems of the statement: SMT250 to SMT253, SMT264, SMT267.
    """
    return _Parser(text, sql_tokens(text, place), place).statement()
