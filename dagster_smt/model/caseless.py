"""Compares names without regard to case, as Spark does. Spark uses Java's rules, which differ from Python's."""

_DOTTED, _DOT = "\u0130", "\u0307"


def caseless(name: str) -> str:
    """Returns ``name`` in one spelling, without differences of case: ``caseless("Id")`` and ``caseless("ID")`` are
    equal. Names that Spark may treat as the same name get the same spelling.

    Spark compares some names with ``String.equalsIgnoreCase``, letter by letter. It compares other names with
    ``toLowerCase``, which turns an I with a dot into two letters. If one of these comparisons calls two names equal,
    both names get the same spelling.
    """
    return "".join(map(_folded, name)).replace(f"i{_DOT}", "i")


def _folded(letter: str) -> str:
    if letter == _DOTTED:
        return "i"
    # String.equalsIgnoreCase compares the upper case first, and then the lower case of it: U+03F4 and U+03B8 (two forms
    # of theta) differ in upper case, but not after both steps
    upper = _single(letter.upper(), letter)
    return _single(upper.lower(), upper)


def _single(changed: str, letter: str) -> str:
    """Returns ``changed`` if it is a single character, and otherwise ``letter``. ``changed`` is Python's upper or lower
    case of ``letter``. For example, ``_single("SS", "ß")`` is ``ß``, because Java's ``Character`` never turns one
    letter into several.
    """
    if len(changed) == 1:
        return changed
    return letter
