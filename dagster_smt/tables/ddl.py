"""Parses column lists in Spark's syntax (``id BIGINT NOT NULL, name STRING``) into Connect schemas.

Type names of Flink and ksqlDB (``BYTES``, ``ROW<…>``, ``TIMESTAMP_LTZ(3)``) are also accepted. The parser uses only
sqlglot's tokenizer: sqlglot's own parser stops silently at a type that it does not know, and Spark's own parser needs a
running session.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import MAX_DIGITS, Schema, Type, date, decimal, optional, time, timestamp

_MOMENTS = ("TIMESTAMP", "TIMESTAMP_LTZ")
_SIMPLE: dict[str, Schema] = {
    **dict.fromkeys(("TINYINT", "BYTE"), Schema(Type.INT8)),
    **dict.fromkeys(("SMALLINT", "SHORT"), Schema(Type.INT16)),
    **dict.fromkeys(("INT", "INTEGER"), Schema(Type.INT32)),
    **dict.fromkeys(("BIGINT", "LONG"), Schema(Type.INT64)),
    **dict.fromkeys(("FLOAT", "REAL"), Schema(Type.FLOAT32)),
    "DOUBLE": Schema(Type.FLOAT64),
    "BOOLEAN": Schema(Type.BOOLEAN),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR", "CHARACTER"), Schema(Type.STRING)),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES"), Schema(Type.BYTES)),
    "DATE": date(),
    "TIME": time(),
    "TIMESTAMP": timestamp(),
    "TIMESTAMP_LTZ": timestamp().with_(zoned=True),
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_TYPES = (*_SIMPLE, *_DECIMALS, "ARRAY", "MAP", "MULTISET", "STRUCT", "ROW")
_ZONES = (("WITH", "LOCAL", "TIME", "ZONE"), ("WITHOUT", "TIME", "ZONE"), ("WITH", "TIME", "ZONE"))
_OPENING = {TokenType.LT: 1, TokenType.L_PAREN: 1, TokenType.GT: -1, TokenType.R_PAREN: -1}
_LONGER = {"DOUBLE PRECISION": "DOUBLE", "CHARACTER VARYING": "VARCHAR", "CHAR VARYING": "VARCHAR"}
"""Maps type names of two words, which the tokenizer returns as one token, to names of one word."""
# Connect's Timestamp and Time count milliseconds
_MOMENT_DIGITS = 3


_AFTER_TYPE = (TokenType.NOT, TokenType.COMMENT, TokenType.STRING)


def _multiset(item: Schema) -> Schema:
    """Returns the schema of Flink's ``MULTISET``, which is a map from each item to the number of its occurrences."""
    return Schema(Type.MAP, keys=item, values=Schema(Type.INT32))


def parse_ddl(text: str, *, place: str = "") -> Schema:
    """Parses the column list ``text`` into the schema of a struct.

    A field, an item of an array or a value of a map allows null unless it is ``NOT NULL``. ``COMMENT`` becomes ``doc``.
    Names with unusual characters need backticks.

    Args:
        text: The column list.
        place: The origin of the text, for messages.

    Raises:
        ConfigError: SMT250 for a syntax error, SMT251 for an unknown type, SMT252 for a name that is used twice, SMT253
            for a wrong precision. The error lists all problems.
    """
    try:
        tokens = Spark().tokenize(text)
    except SqlglotError:
        problem = Problem("SMT250", place, "the column list ends inside a quoted text", "close the backtick or quote")
        raise ConfigError(problem) from None
    parser = ColumnParser(text, tokens, place)
    schema = parser.struct(until=None)
    if parser.problems:
        raise ConfigError(parser.problems)
    return schema


class Skip(Exception):
    """Raised to skip the rest of an unreadable column, after the problem of the column has been noted."""


_SYNTAX = "write: name TYPE [NOT NULL] [COMMENT 'text'], with unusual names in backticks"


@dataclass
class ColumnParser:
    """A parser for a column list, such as ``id BIGINT NOT NULL, name STRING``. The parser holds the list's tokens and
    its current position among them.

    The parser collects syntax errors in ``problems`` and continues with the next column, so that it finds all errors.
    """

    text: str
    tokens: list[Token]
    place: str
    at: int = 0
    bare_moments: int = 0
    problems: list[Problem] = field(default_factory=list)
    syntax: ClassVar[str] = _SYNTAX

    @property
    def now(self) -> Token | None:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return None

    def struct(self, until: TokenType | None) -> Schema:
        fields: dict[str, Schema] = {}
        while True:
            start = self.at
            try:
                name, schema = self.column()
                self.end_of_column(until)
                if name in fields:
                    self.note("SMT252", f"field '{name}' is declared twice", "names differ in a struct")
                fields[name] = schema
            except Skip:
                self.skip(start, until)
            if not self.take(TokenType.COMMA):
                break
        return Schema(Type.STRUCT, fields=tuple(fields.items()))

    def column(self) -> tuple[str, Schema]:
        name = self.name()
        # Spark permits a colon after the name of a nested field: STRUCT<a: INT>
        self.take(TokenType.COLON)
        schema = optional(self.type())
        while (token := self.now) is not None and token.token_type in _AFTER_TYPE:
            # in Flink, the comment of a field is a string without a keyword
            self.at += token.token_type is not TokenType.STRING
            if token.token_type is TokenType.NOT:
                self.expect(TokenType.NULL, "NULL after NOT")
                schema = schema.with_(optional=False)
            else:
                schema = schema.with_(doc=self.quoted())
        return name, schema

    def name(self) -> str:
        token = self.now
        if token is None or not (token.token_type is TokenType.IDENTIFIER or self.is_word(token)):
            self.fail("a field name is expected")
        self.at += 1
        if token.token_type is TokenType.IDENTIFIER:
            return token.text
        return self.spelling(token)

    def type(self) -> Schema:
        """Parses a type, and the words ``ARRAY`` or ``MULTISET`` after it. In standard SQL, ``INT ARRAY`` is an array
        of ``INT``.
        """
        schema = self.one_type()
        while (token := self.now) is not None and token.token_type is not TokenType.IDENTIFIER:
            word = self.spelling(token).upper()
            if word not in ("ARRAY", "MULTISET"):
                break
            self.at += 1
            if word == "ARRAY":
                schema = Schema(Type.ARRAY, values=optional(schema))
            else:
                schema = _multiset(schema)
        return schema

    def one_type(self) -> Schema:
        token = self.now
        if token is None:
            word = ""
        else:
            # the tokenizer returns DOUBLE PRECISION as one token; the text may have any spaces between the two words
            word = " ".join(self.spelling(token).upper().split())
        if token is None or not (self.is_word(token) or word in _LONGER):
            self.fail("a type is expected")
        self.at += 1
        word = _LONGER.get(word, word)
        struct = self.nested_struct
        nested: dict[str, Callable[[], Schema]] = {
            "ARRAY": self.array,
            "MAP": self.map,
            "MULTISET": self.multiset,
            "STRUCT": struct,
            "ROW": struct,
        }
        # Flink also permits parentheses, ROW(a INT), whereas Spark and ksqlDB permit only angle brackets
        if nested.get(word) is struct and self.take(TokenType.L_PAREN):
            schema = self.struct(until=TokenType.R_PAREN)
            self.expect(TokenType.R_PAREN, f") to close {word}")
            return schema
        if word in nested:
            self.expect(TokenType.LT, f"< after {word}")
            schema = nested[word]()
            self.expect(TokenType.GT, f"> to close {word}")
            return schema
        # ksqlDB permits VARCHAR(STRING), which has no number
        arguments = self.length_of_ksqldb() if word == "VARCHAR" else None
        arguments = self.arguments() if arguments is None else arguments
        if word in (*_MOMENTS, "TIME") and int((arguments or ["3"])[0]) > _MOMENT_DIGITS:
            statement = f"{word}({arguments[0]}) has more digits than are kept here: milliseconds"
            self.note("SMT253", statement, f"declare {word}({_MOMENT_DIGITS}), or STRING to keep every digit", token)
        self.bare_moments += word in _MOMENTS and not arguments
        if word in _DECIMALS:
            return self.decimal(arguments)
        # Connect's Time has no zone, so the words after TIME are read and have no effect
        if word in ("TIMESTAMP", "TIME") and self.time_zone() and word == "TIMESTAMP":
            word = "TIMESTAMP_LTZ"
        if word not in _SIMPLE:
            similar = difflib.get_close_matches(word, _TYPES, 1)
            if similar:
                hint = f"did you mean {similar[0]}?"
            else:
                hint = "types are " + ", ".join(_TYPES)
            self.note("SMT251", f"type {word} is not known", hint, token)
        # an unknown type becomes STRING, so that the parser also finds the problems of the following columns
        return _SIMPLE.get(word, _SIMPLE["STRING"])

    def time_zone(self) -> bool:
        """Consumes the words ``WITH TIME ZONE``, ``WITH LOCAL TIME ZONE`` or ``WITHOUT TIME ZONE`` after a type.
        Returns True if the type gets a time zone.
        """
        for words in _ZONES:
            ahead = []
            for t in self.tokens[self.at : self.at + len(words)]:
                ahead.append(self.spelling(t).upper())
            if ahead == list(words):
                self.at += len(words)
                return words[0] == "WITH"
        return False

    def array(self) -> Schema:
        return Schema(Type.ARRAY, values=self.item())

    def item(self) -> Schema:
        """Parses the type of the items of an array or the values of a map. The type is nullable unless ``NOT NULL``
        follows.
        """
        schema = self.type()
        if not self.take(TokenType.NOT):
            return optional(schema)
        self.expect(TokenType.NULL, "NULL after NOT")
        return schema

    def length_of_ksqldb(self) -> list[str] | None:
        """Parses the brackets of ``VARCHAR(STRING)``, ksqlDB's name for a string without a length limit. Returns None
        if the brackets contain something else.
        """
        ahead = []
        for token in self.tokens[self.at : self.at + 3]:
            ahead.append(self.spelling(token).upper())
        if ahead != ["(", "STRING", ")"]:
            return None
        self.at += len(ahead)
        return []

    def key_type(self) -> Schema:
        keys = self.type()
        if self.take(TokenType.NOT):  # Flink permits NOT NULL here, although keys are never null
            self.expect(TokenType.NULL, "NULL after NOT")
        return keys

    def multiset(self) -> Schema:
        return _multiset(self.key_type())

    def map(self) -> Schema:
        keys = self.key_type()
        self.expect(TokenType.COMMA, "a comma between key and value type")
        return Schema(Type.MAP, keys=keys, values=self.item())

    def nested_struct(self) -> Schema:
        return self.struct(until=TokenType.GT)

    def decimal(self, arguments: list[str]) -> Schema:
        precision, scale = map(int, (*arguments, *("10", "0")[len(arguments) :]))
        if not (0 < precision <= MAX_DIGITS and scale <= precision):
            statement = f"DECIMAL({precision},{scale}) does not exist"
            self.note("SMT253", statement, f"precision is 1 to {MAX_DIGITS}, the scale at most the precision")
        return decimal(scale, precision)

    def arguments(self) -> list[str]:
        texts: list[str] = []
        if not self.take(TokenType.L_PAREN):
            return texts
        while (token := self.now) is not None and token.token_type is TokenType.NUMBER and token.text.isdigit():
            texts.append(token.text)
            self.at += 1
            if not self.take(TokenType.COMMA):
                break
        self.expect(TokenType.R_PAREN, "a number, or ) after it")
        if not 1 <= len(texts) <= 2:
            self.fail("one or two numbers are expected in parentheses")
        return texts

    def quoted(self) -> str:
        parts: list[str] = []
        while (token := self.now) is not None and token.token_type is TokenType.STRING:
            parts.append(token.text)
            self.at += 1
        if not parts:
            self.fail("a quoted text is expected after COMMENT")
        # the tokenizer treats Spark's doubled quote as the end of one string and the start of another
        return "'".join(parts)

    def end_of_column(self, until: TokenType | None) -> None:
        token = self.now
        if token is not None and token.token_type is not until and token.token_type is not TokenType.COMMA:
            self.fail("a comma, NOT NULL or COMMENT is expected")

    def skip(self, start: int, until: TokenType | None) -> None:
        """Skips the rest of an unreadable column, up to the comma or bracket that ends it.

        Args:
            start: The position of the column's first token.
            until: The bracket that ends the whole list. None if the end of the text ends the list.
        """
        # counts brackets from the first token of the column: in `a DECIMAL(x, y), b INT`, the first comma does not end
        # the column `a`
        end, depth, self.at = self.at, 0, start
        while (token := self.now) is not None:
            done = self.at >= end and depth <= 0 and token.token_type in (TokenType.COMMA, until)
            if done:
                return
            depth += _OPENING.get(token.token_type, 0)
            self.at += 1

    def take(self, kind: TokenType) -> bool:
        token = self.now
        matches = token is not None and token.token_type is kind
        self.at += matches
        return matches

    def expect(self, kind: TokenType, what: str) -> None:
        if not self.take(kind):
            self.fail(f"{what} is expected")

    def fail(self, statement: str) -> NoReturn:
        self.note("SMT250", statement, self.syntax)
        raise Skip

    def note(self, code: str, statement: str, hint: str, token: Token | None = None) -> None:
        token = token or self.now
        where = f"at character {token.start + 1}" if token else "at the end"
        self.problems.append(Problem(code, f"{self.place} {where}".strip(), statement, hint))

    def spelling(self, token: Token) -> str:
        return self.text[token.start : token.end + 1]

    def is_word(self, token: Token) -> bool:
        # the token type does not help: a keyword may be the name of a column, as in `order INT, date DATE`
        spelled = self.spelling(token)
        return token.token_type is not TokenType.STRING and spelled.replace("_", "a").isalnum()
