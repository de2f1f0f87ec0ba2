"""Parses Flink's and ksqlDB's ``CREATE TABLE`` and ``CREATE STREAM`` statements into topic tables.

``TEMPORARY``, ``SOURCE``, ``IF NOT EXISTS`` and the ``COMMENT`` of a table are accepted and ignored. Any other clause
or option that this package does not support is an error, which names the clause or option. Names keep their case, even
in ksqlDB's statements.
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
    "DISTRIBUTED": "the chain's routers place records",
    "LIKE": "write the columns out",
    "AS": "a chain makes a table of another one: give the statement of its source, and stages",
    "EMIT": "leave it out",
}
_KINDS = ("TABLE", "STREAM")
_PSEUDO = {"ROWTIME": "timestamp", "ROWPARTITION": "partition", "ROWOFFSET": "offset"}
"""Maps each pseudo column of ksqlDB to the metadata of a record that the column contains."""


@dataclass(frozen=True)
class Statement:
    """A parsed statement.

    Attributes:
        name: The table's name.
        columns: The columns.
        keys: The columns that ksqlDB's ``KEY`` puts into the key.
        options: The options in ``WITH``, by name. The names are as the statement spells them.
        primary_key: The columns of ``PRIMARY KEY (…) NOT ENFORCED``.
        partitioned_by: The entries of ``PARTITIONED BY``, such as ``day(at)``.
    """

    name: str
    columns: tuple[Column, ...] = ()
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()


@dataclass
class _Parser(RowParser):
    syntax: ClassVar[str] = _SYNTAX
    stream: bool = False
    primary_key: list[str] = field(default_factory=list)
    partitioned_by: list[str] = field(default_factory=list)

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
            # the words IF NOT EXISTS
            self.at += 3
        name = self.dotted_name()
        columns: list[Column] = []
        if self.take(TokenType.L_PAREN):
            columns = self.columns(until=TokenType.R_PAREN)
            self.expect(TokenType.R_PAREN, ") after the columns")
        options = self.clauses()
        self.check_primary_key(columns)
        if self.problems:
            raise ConfigError(self.problems)
        keys, partitions = tuple(self.primary_key), tuple(self.partitioned_by)
        return Statement(name, tuple(columns), tuple(self.keys), options, keys, partitions)

    def row_column(self) -> Column:
        """Parses a column as ``RowParser`` does. In ``CREATE STREAM``, a field with the name of a pseudo column, such
        as ``ROWTIME``, is an error.
        """
        token, word = self.now, self.word()
        if self.primary_key_clause():
            raise Skip  # the clause is not a column, so it is skipped without a problem
        column = super().row_column()
        if self.stream and word in _PSEUDO and column.source is None:
            hint = f"declare it METADATA FROM '{_PSEUDO[word]}', or put the name of a field into backticks"
            self.note("SMT267", f"{word} is a pseudo column of ksqlDB, not a field", hint, token)
        return column

    def primary_key_clause(self) -> bool:
        """Parses ``[CONSTRAINT name] PRIMARY KEY (columns) NOT ENFORCED`` among the columns.

        Returns False if the next tokens are something else, such as an ordinary column.
        """
        start = self.at
        if self.word() == "CONSTRAINT":
            # the word CONSTRAINT and the name of the constraint
            self.at += 2
        # the tokenizer returns the two words as one token
        if self.word() != "PRIMARY KEY":
            self.at = start
            return False
        self.at += 1
        if not self.take(TokenType.L_PAREN):
            self.at = start
            return False
        names = [self.name()]
        while self.take(TokenType.COMMA):
            names.append(self.name())
        self.expect(TokenType.R_PAREN, ") after the key")
        self.enforced(names)
        return True

    def primary_key_of(self, column: Column) -> Column:
        """Parses ``PRIMARY KEY`` in a column. See ``RowParser``."""
        self.enforced([column.name])
        return column

    def enforced(self, names: list[str]) -> None:
        """Reads the words ``NOT ENFORCED`` after a primary key. If the words are missing, notes a problem, because
        topics do not enforce keys. A second primary key in a statement is also a problem.

        Args:
            names: The columns of the primary key.
        """
        following = self.tokens[self.at : self.at + 2]
        if [self.spelling(token).upper() for token in following] != ["NOT", "ENFORCED"]:
            hint = "write PRIMARY KEY (…) NOT ENFORCED, as Flink does; ksqlDB's key column of a record is marked KEY"
            self.refuse("PRIMARY KEY without NOT ENFORCED", hint)
        self.at += 2
        if self.primary_key:
            self.refuse("a second PRIMARY KEY", "name all columns of the key in one")
        self.primary_key += names

    def check_primary_key(self, columns: list[Column]) -> None:
        """Notes a problem for each column of the primary key that is not among ``columns``."""
        known = {column.name for column in columns}
        for name in self.primary_key:
            if name not in known:
                self.note("SMT267", f"PRIMARY KEY ({name}): there is no such column", "name a column of the statement")

    def partitions(self) -> list[str]:
        """Parses the list after ``PARTITIONED BY``. For ``(country, day(at))``, it returns ``["country",
        "day(at)"]``.
        """
        entries, depth = [], 0
        if not self.take(TokenType.L_PAREN):
            self.refuse(
                "PARTITIONED BY without a list", "write PARTITIONED BY (column, day(at)): the table's partitions"
            )
        start = self.now.start if self.now is not None else 0
        while (token := self.now) is not None:
            self.at += 1
            if depth == 0 and token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
                # an entry stays a text: layout_of() parses it later, in the same way as the option partition_by of a
                # sink
                entries.append(self.text[start : token.start].strip())
                start = token.end + 1
                if token.token_type is TokenType.R_PAREN:
                    return entries
            elif token.token_type is TokenType.L_PAREN:
                depth += 1
            elif token.token_type is TokenType.R_PAREN:
                depth -= 1
        self.fail(") after PARTITIONED BY is expected")

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
            elif word == "PARTITIONED BY":
                self.partitioned_by += self.partitions()
            elif word == "WITH":
                options.update(self.options())
            else:
                self.at -= 1
                self.fail("COMMENT, PARTITIONED BY or WITH is expected")
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
