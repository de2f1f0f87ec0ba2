"""Literals in SQL, where no expression can stand: everywhere else is ``spark.sql.text``."""

import re


def literal(text: str) -> str:
    """Returns the literal of a ``COMMENT``.

    Odd characters are escaped: variables in it stay, and no parser takes it for a command. In a ``COMMENT`` a backslash
    escapes whatever ``spark.sql.parser.escapedStringLiterals`` says; in an expression that setting makes the escapes
    part of the text.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
