"""Literals in SQL."""

import re


def literal(text: str) -> str:
    """A string literal. Odd characters are escaped: variables in it stay, and no parser takes it for a command."""
    return "'" + re.sub(r"[^\w.,:-]", lambda found: _escaped(found[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
