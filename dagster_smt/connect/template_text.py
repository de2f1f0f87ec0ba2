"""Foreign texts in ``defs.yaml``, which Dagster renders with Jinja before it reads them.

Jinja's native templates do two things to a text: they evaluate the expressions in braces, and they read the result as a
Python literal (``123`` becomes a number). If one of these steps would change a text, the text is written as a template
that returns the original.
"""

import ast
from typing import Any

_MARKS = ("{{", "{%", "{#")


def template_text(text: str) -> str:
    """Returns the text of ``defs.yaml`` that Dagster renders to a text.

    Plain texts stay as they are. Everything else becomes ``{{ "'…'" }}``: Jinja gives a Python literal, and the literal
    is the text.
    """
    if _is_plain(text):
        return text
    literal = ascii(text)
    return "{{ " + _as_jinja(literal) + " }}"


def template_texts(data: Any) -> Any:
    """Returns lists and mappings with ``template_text`` of each text; names stay as they are."""
    if isinstance(data, str):
        return template_text(data)
    if isinstance(data, dict):
        texts = {}
        for name, value in data.items():
            texts[name] = template_texts(value)
        return texts
    if isinstance(data, list):
        return [template_texts(item) for item in data]
    return data


def _is_plain(text: str) -> bool:
    if not text.isprintable() or any(mark in text for mark in _MARKS):
        return False
    try:
        ast.literal_eval(ast.parse(text, mode="eval"))
    except (ValueError, SyntaxError):
        return True
    except (MemoryError, RecursionError):
        return False
    return False


def _as_jinja(literal: str) -> str:
    """Returns a text of ASCII as a string of a Jinja expression."""
    escaped = literal.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
