"""Parses the columns of a topic table from a string or a mapping into ``Column`` objects.

A string is a column list in the syntax of Flink and ksqlDB::

    id BIGINT NOT NULL, at TIMESTAMP(3) METADATA FROM 'timestamp', trace BYTES HEADER('trace-id')

A mapping has one entry per column. The entry maps the column's name to a string such as ``BIGINT NOT NULL``, or to a
mapping of options.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.model.topics.columns import HEADER_LIST, Column, HeaderValue, Metadata, header_form, match_of
from dagster_smt.tables.ddl import ColumnParser, Skip

_SYNTAX = "write: name TYPE [METADATA [FROM 'key'] [VIRTUAL] | HEADERS | HEADER('key')], unusual names in backticks"
_OPTIONS = ("type", "metadata", "headers", "header", "match", "duplicates", "decode", "strict", "virtual")
_APPENDED = "the sink has the keys: leave it out, and set mode 'upsert' and keys of the sink"
_TABLE_CLAUSES = {
    "WATERMARK": ("FOR", "a batch has no watermarks: leave it out"),
    "PRIMARY KEY": ("(", _APPENDED),
    "CONSTRAINT": ("", _APPENDED),
    "UNIQUE": ("(", _APPENDED),
    "CHECK": ("(", "leave it out"),
}
"""Maps a clause, such as ``CHECK``, to two strings. A column list must not contain these clauses.

The first string is the token that follows the clause's name, such as ``(`` after ``CHECK``. By this token, the parser
distinguishes the clause from a column with the same name. The second string is the advice for the user.
"""
_COLUMN_CLAUSES = {
    "PRIMARY KEY": _APPENDED,
    "UNIQUE": _APPENDED,
    "AS": "add a stage to the chain that makes the field",
    "GENERATED": "add a stage to the chain that makes the field",
    "DEFAULT": "leave it out",
    "REFERENCES": "leave it out",
    "CHECK": "leave it out",
}
"""Maps each clause of a column that is not supported, such as ``DEFAULT``, to the advice for the user."""


class _Sql(Dialect):
    class Tokenizer(tokens.Tokenizer):
        """A tokenizer for SQL. Names are in backticks (Flink, ksqlDB, Spark) or double quotes (standard SQL), and
        strings in single quotes.
        """

        IDENTIFIERS: ClassVar = ["`", '"']
        QUOTES: ClassVar = ["'"]


def sql_tokens(text: str, place: str) -> list[Token]:
    """Returns the tokens of the statement ``text``.

    Raises:
        ConfigError: SMT250, a quote is not closed.
    """
    try:
        return _Sql().tokenize(text)
    except SqlglotError:
        problem = Problem("SMT250", place, "the text ends inside a quoted text or name", "close the quote")
        raise ConfigError(problem) from None


@dataclass
class RowParser(ColumnParser):
    """A parser of a topic table's columns. ``keys`` lists the columns that the statement marks with ksqlDB's word
    ``KEY``.
    """

    keys: list[str] = field(default_factory=list)
    syntax: ClassVar[str] = _SYNTAX

    def columns(self, until: TokenType | None) -> list[Column]:
        """Parses columns up to the closing bracket ``until``, or up to the end of the text."""
        columns: list[Column] = []
        while True:
            start = self.at
            try:
                columns.append(self.row_column())
                self.end_of_column(until)
            except Skip:
                self.skip(start, until)
            if not self.take(TokenType.COMMA):
                return columns

    def row_column(self) -> Column:
        """Parses one column, beginning with its name."""
        clause, after = self.word(), self.tokens[self.at + 1 : self.at + 2]
        if clause in _TABLE_CLAUSES:
            following, hint = _TABLE_CLAUSES[clause]
            if not following or (after and self.spelling(after[0]).upper() == following):
                self.refuse(clause, hint)
        return self.rest_of_column(self.name())

    def rest_of_column(self, name: str) -> Column:
        """Parses the text after the name of the column ``name``, and returns the column."""
        self.refuse_clause()
        # type() counts each TIMESTAMP without digits, also inside of a type: ARRAY<TIMESTAMP>
        before = self.bare_moments
        column = Column(name, optional(self.type()))
        column = replace(column, bare_moments=self.bare_moments > before)
        words: dict[str, Callable[[Column], Column]] = {
            "NOT": self._not_null,
            "NULL": lambda column: column,
            "COMMENT": lambda column: replace(column, schema=column.schema.with_(doc=self.quoted())),
            "METADATA": self._metadata,
            "VIRTUAL": lambda column: replace(column, virtual=True),
            "HEADERS": self._headers,
            "HEADER": self._header,
            "KEY": self._key,
            "PRIMARY KEY": self.primary_key_of,
        }
        while (word := self.word()) in words:
            self.at += 1
            column = words[word](column)
        self.refuse_clause()
        return column

    def word(self) -> str:
        """Returns the next token in capitals if it is a keyword. Otherwise returns an empty string."""
        token = self.now
        if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return ""
        return " ".join(self.spelling(token).upper().split())

    def refuse_clause(self) -> None:
        """Rejects the next clause of a column if the clause is not supported, such as ``DEFAULT``. The method notes a
        problem, and skips the rest of the column.
        """
        if (clause := self.word()) in _COLUMN_CLAUSES:
            self.refuse(clause, _COLUMN_CLAUSES[clause])

    def refuse(self, clause: str, hint: str) -> NoReturn:
        """Notes the unsupported clause ``clause`` as a problem, and skips the rest of the column."""
        self.note("SMT267", f"{clause} is not supported", hint)
        raise Skip

    def primary_key_of(self, column: Column) -> Column:
        """Notes a problem for the clause ``PRIMARY KEY``, which a column list must not contain. The parser of whole
        statements accepts the clause.
        """
        # so that the message states the position of the clause
        self.at -= 1
        self.refuse("PRIMARY KEY", _COLUMN_CLAUSES["PRIMARY KEY"])

    def _not_null(self, column: Column) -> Column:
        self.expect(TokenType.NULL, "NULL after NOT")
        return replace(column, schema=column.schema.with_(optional=False))

    def _metadata(self, column: Column) -> Column:
        key = column.name
        if self.take(TokenType.FROM):
            key = self.quoted_text("METADATA FROM")
        return replace(column, source=Metadata(key))

    def _headers(self, column: Column) -> Column:
        column = replace(column, schema=_in_small_letters(column.schema))
        if header_form(column.schema, "last") != "list":
            hint = f"declare {column.name} {HEADER_LIST} HEADERS; a MAP<STRING, BYTES> is METADATA FROM 'headers'"
            self.note("SMT264", f"columns with the HEADERS keyword must be typed as {HEADER_LIST}", hint)
        return replace(column, source=Metadata("headers"))

    def _header(self, column: Column) -> Column:
        self.expect(TokenType.L_PAREN, "( after HEADER")
        key = self.quoted_text("HEADER(")
        self.expect(TokenType.R_PAREN, ") after the header's name")
        return replace(column, source=HeaderValue(key))

    def _key(self, column: Column) -> Column:
        self.keys.append(column.name)
        return replace(column, keyed=True)

    def quoted_text(self, after: str) -> str:
        """Returns the string in single quotes that must follow the word ``after``."""
        token = self.now
        if token is None or token.token_type is not TokenType.STRING:
            self.fail(f"a text in single quotes is expected after {after}")
        self.at += 1
        return token.text


def _in_small_letters(schema: Schema) -> Schema:
    """Renames the fields ``KEY`` and ``VALUE`` of a ksqlDB header list to ``key`` and ``value``, the names in this
    package.

    Any other ``schema`` is returned unchanged.
    """
    item = schema.values
    if item is None or schema.type is not Type.ARRAY or set(item.by_name) != {"KEY", "VALUE"}:
        return schema
    fields = tuple((name.lower(), child) for name, child in item.fields)
    return schema.with_(values=item.with_(fields=fields))


Declaration = str | Mapping[str, Any] | Sequence[Any]


def parse_columns(declaration: Declaration, place: str = "columns") -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Parses ``declaration``. Returns the columns, and the names of the columns that are marked with ``KEY``.

    Args:
        declaration: A column list; a mapping of names to strings or options; or ``Column`` objects.
        place: The name of the declaration in messages.

    Raises:
        ConfigError: All problems of the declaration: SMT250 to SMT253, SMT264, SMT267, SMT268.
    """
    if isinstance(declaration, str):
        parser = RowParser(declaration, sql_tokens(declaration, place), place)
        return _finished(parser.columns(until=None), parser.keys, parser.problems)
    if not isinstance(declaration, Mapping):
        return tuple(declaration), ()
    columns: list[Column] = []
    keys: list[str] = []
    problems: list[Problem] = []
    for name, options in declaration.items():
        column = _from_options(str(name), options, f"{place} {below('', str(name))}", keys, problems)
        columns += [column] if column is not None else []
    return _finished(columns, keys, problems)


def _finished(
    columns: list[Column], keys: list[str], problems: list[Problem]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    if problems:
        raise ConfigError(problems)
    return tuple(columns), tuple(keys)


def _from_options(name: str, declaration: Any, place: str, keys: list[str], problems: list[Problem]) -> Column | None:
    """Creates the column ``name`` from its entry in a mapping: a string such as ``BIGINT NOT NULL``, or options.

    Args:
        name: The name of the column.
        declaration: The entry.
        place: The name of the entry in messages.
        keys: A list. If the entry marks the column with ``KEY``, the function adds ``name`` to this list.
        problems: The list to which the function adds problems.
    """
    if isinstance(declaration, str):
        options = {"type": declaration}
    elif isinstance(declaration, Mapping):
        options = dict(declaration)
    else:
        options = {}
    unknown = [option for option in options if option not in _OPTIONS]
    if unknown or not isinstance(options.get("type"), str):
        what = f"unknown option '{unknown[0]}'" if unknown else "has no type"
        problems.append(Problem("SMT268", place, what, f"there are: {', '.join(_OPTIONS)}"))
        return None
    parser = RowParser(options["type"], sql_tokens(options["type"], place), place)
    try:
        column = parser.rest_of_column(name)
        parser.end_of_column(None)
    except Skip:
        problems.extend(parser.problems)
        return None
    problems.extend(parser.problems)
    keys.extend(parser.keys)
    return _with_source(column, options, place, problems)


def _with_source(column: Column, options: Mapping[str, Any], place: str, problems: list[Problem]) -> Column:
    """Returns ``column`` with a source from ``options``. For example, ``{"header": "trace-id"}`` reads the column from
    a header.

    Args:
        column: The column.
        options: The options of the column.
        place: The name of the column in messages.
        problems: The list to which the function adds problems.
    """
    sources = []
    for option in ("metadata", "headers", "header"):
        if options.get(option) not in (None, False):
            sources.append(option)
    source = column.source
    if len(sources) > 1 or (sources and source is not None):
        hint = "choose one of metadata, headers and header"
        problems.append(Problem("SMT268", place, "comes from several places", hint))
    elif sources == ["metadata"]:
        if options["metadata"] is True:
            key = column.name
        else:
            key = str(options["metadata"])
        source = Metadata(key, options.get("duplicates", "last"))
    elif sources == ["headers"]:
        source = Metadata("headers", options.get("duplicates", "last"))
    elif sources == ["header"]:
        source = HeaderValue(
            str(options["header"]),
            match_of(options.get("match", "last")),
            str(options.get("decode", "bytes")),
            bool(options.get("strict", False)),
        )
    kinds = {"match": HeaderValue, "decode": HeaderValue, "strict": HeaderValue, "duplicates": Metadata}
    for option, kind in kinds.items():
        if option in options and not isinstance(source, kind):
            if kind is HeaderValue:
                hint = "it is one of a header"
            else:
                hint = "it is one of all headers"
            problems.append(Problem("SMT268", f"{place} {option}", "has no effect here", hint))
    return replace(column, source=source, virtual=column.virtual or bool(options.get("virtual", False)))
