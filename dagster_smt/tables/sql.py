"""Literals in places of SQL that permit no expression; ``spark.sql.text`` serves all other places."""

import re


def literal(text: str) -> str:
    """Returns the literal of a ``COMMENT``.

    Unusual characters are escaped, so that Spark replaces no variables in the text and reads no command in it. In a
    ``COMMENT`` a backslash always escapes. In an expression, the setting ``spark.sql.parser.escapedStringLiterals``
    would make the backslashes a part of the text.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
