"""Comparison of names without case, as Spark does it: by Java's rules, which differ from Python's."""

_DOTTED, _DOT = "\u0130", "\u0307"


def caseless(name: str) -> str:
    """Returns a text that is equal for two names if Spark may take the names for the same.

    In some places Spark compares with ``String.equalsIgnoreCase``, letter by letter. In others it compares with
    ``toLowerCase``, which turns an I with a dot into two letters. Names that either way takes for the same share a
    text.
    """
    return "".join(map(_folded, name)).replace(f"i{_DOT}", "i")


def _folded(letter: str) -> str:
    if letter == _DOTTED:
        return "i"
    upper = _single(letter.upper(), letter)
    return _single(upper.lower(), upper)


def _single(changed: str, letter: str) -> str:
    """Returns the changed letter, unless it has become several: Java's ``Character`` never does that."""
    if len(changed) == 1:
        return changed
    return letter
