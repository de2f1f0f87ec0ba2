"""Reads the docstrings of dataclasses, from which the descriptions in components and run configs are derived."""

import re

# one entry may describe several attributes: ``since, until: The beginning and the end of …``
_ATTRIBUTE = re.compile(r"(\w+(?:, \w+)*): (.*)", re.DOTALL)


def summary_of(cls: type) -> str:
    """Returns the first paragraph of the docstring of ``cls`` as one line of Markdown."""
    return _line((cls.__doc__ or "").split("\n\n")[0])


def attribute_docs(cls: type) -> dict[str, str]:
    """Maps each attribute of ``cls`` to its description under ``Attributes:`` in the docstrings of the class and its
    bases.
    """
    docs: dict[str, str] = {}
    # base classes come first, so that a class can describe an inherited attribute anew
    for base in reversed(cls.__mro__):
        section = re.search(r"^ *Attributes:\n(.*?)(?:\n\n|\Z)", base.__doc__ or "", re.DOTALL | re.MULTILINE)
        if section is None:
            continue
        indent = len(section[1]) - len(section[1].lstrip())
        # an entry begins at the indent of the section; the further lines of an entry are indented more deeply
        for entry in re.split("\n" + " " * indent + "(?! )", section[1].strip()):
            attribute = _ATTRIBUTE.fullmatch(entry)
            if attribute is not None:
                docs |= dict.fromkeys(attribute[1].split(", "), _line(attribute[2]))
    return docs


def _line(text: str) -> str:
    """Joins the lines of ``text`` into one line, and writes code in Markdown's single backticks."""
    return " ".join(text.split()).replace("``", "`")
