"""Names as Spark compares them where case does not count: Java's rules, which differ from Python's."""

_DOTTED, _DOT = "\u0130", "\u0307"


def caseless(name: str) -> str:
    """A text that two names share if Spark may take them for the same.

    It compares with ``String.equalsIgnoreCase``, letter by letter, in some places, and in others with ``toLowerCase``,
    which makes two letters of an I with a dot. Names that one of them takes for the same are so here.
    """
    return "".join(map(_folded, name)).replace(f"i{_DOT}", "i")


def _folded(letter: str) -> str:
    if letter == _DOTTED:
        return "i"
    upper = _single(letter.upper(), letter)
    return _single(upper.lower(), upper)


def _single(changed: str, letter: str) -> str:
    """Java's ``Character`` changes no letter into several."""
    if len(changed) == 1:
        return changed
    return letter
