"""Writes strings from elsewhere into ``defs.yaml``, which Dagster renders with Jinja before it reads them.

Jinja's native templates do two things to a string: they evaluate the expressions in braces, and they read the result as
a Python literal (``123`` becomes a number). If one of these steps would change a string, the string is written as a
template whose result is the original string.
"""

import ast
from typing import Any

_MARKS = ("{{", "{%", "{#")


def template_text(text: str) -> str:
    """Returns the template for ``defs.yaml`` that Dagster renders to ``text``.

    If rendering does not change ``text``, the template is ``text`` itself. Otherwise the template is a Jinja expression
    whose result is a Python literal: the text ``123`` would become a number, so its template is ``{{ "'123'" }}``.
    """
    if _is_plain(text):
        return text
    literal = ascii(text)
    return "{{ " + _as_jinja(literal) + " }}"


def template_texts(data: Any) -> Any:
    """Returns ``data`` with ``template_text`` applied to each string in its lists and mappings. Keys of mappings stay
    unchanged.
    """
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
    # Jinja would, for example, drop a line break at the end
    if not text.isprintable() or any(mark in text for mark in _MARKS):
        return False
    try:
        # what jinja2.nativetypes does with each rendered string; if it fails, the string stays a string
        ast.literal_eval(ast.parse(text, mode="eval"))
    except (ValueError, SyntaxError):
        return True
    # too deep for Python's parser: jinja2.nativetypes does not catch a RecursionError
    except (MemoryError, RecursionError):
        return False
    return False


def _as_jinja(literal: str) -> str:
    """Returns ``literal`` as a string literal for a Jinja expression, in ASCII."""
    escaped = literal.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
