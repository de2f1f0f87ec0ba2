"""Literals in SQL."""

import re


def literal(text: str) -> str:
    """A string literal. Odd characters are escaped: variables in it stay, and no parser takes it for a command."""
    return "'" + re.sub(r"[^\w.,:-]", lambda found: _escaped(found[0]), text) + "'"


def plain_literal(text: str) -> str:
    """A string literal for a place that takes no expression. As it is where it can be: then no setting changes it."""
    plain = text.isprintable() and not set(text) & {"'", "\\", "$"}
    return f"'{text}'" if plain else literal(text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
