"""Writes string literals for SQL clauses that do not permit expressions. For all other literals, use
``spark.sql.text``.
"""

import re


def literal(text: str) -> str:
    """Returns ``text`` as a string literal for a ``COMMENT`` clause.

    Unusual characters are escaped, so that Spark replaces no variables in the string and does not interpret the string
    as a command. In a ``COMMENT``, a backslash is always an escape character. In an expression, it is not if
    ``spark.sql.parser.escapedStringLiterals`` is set.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
