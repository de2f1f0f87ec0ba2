"""Compares names without regard to case, as Spark does. Spark uses Java's rules, which differ from Python's."""

_DOTTED, _DOT = "\u0130", "\u0307"


def caseless(name: str) -> str:
    """Returns a form of ``name`` for comparisons. Two names have the same form if Spark may treat them as the same
    name.

    In some places, Spark compares names with ``String.equalsIgnoreCase``, letter by letter. In other places, it
    compares them with ``toLowerCase``, which turns an I with a dot into two letters. Names that are equal under one of
    these comparisons have the same form.
    """
    return "".join(map(_folded, name)).replace(f"i{_DOT}", "i")


def _folded(letter: str) -> str:
    if letter == _DOTTED:
        return "i"
    upper = _single(letter.upper(), letter)
    return _single(upper.lower(), upper)


def _single(changed: str, letter: str) -> str:
    """Returns ``changed``, which is ``letter`` in a different case. If ``changed`` has several letters, returns
    ``letter``, because Java's ``Character`` never changes one letter into several.
    """
    if len(changed) == 1:
        return changed
    return letter
