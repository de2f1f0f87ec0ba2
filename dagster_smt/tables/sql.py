"""Writes string literals for clauses in which SQL permits no expression. Everywhere else, use ``spark.sql.text``."""

import re


def literal(text: str) -> str:
    """Returns ``text`` as a string literal for a ``COMMENT`` clause.

    Unusual characters are escaped, so that Spark replaces no variables in the string and does not interpret the string
    as a command. In a ``COMMENT`` a backslash always escapes. In an expression, the setting
    ``spark.sql.parser.escapedStringLiterals`` would turn the backslashes into part of the string.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
