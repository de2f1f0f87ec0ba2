"""Reports are read from JSON by their annotations: Python 3.10 does not look up a name in quotes inside of brackets."""

from dataclasses import is_dataclass
from typing import get_args, get_type_hints

from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.schema import Schema


def parts(hint):
    """A type, and all types in its brackets."""
    yield hint
    for part in get_args(hint):
        yield from parts(part)


def classes_below(cls, classes):
    """The dataclasses that a dataclass holds, itself among them."""
    if cls not in classes:
        classes.add(cls)
        for hint in get_type_hints(cls).values():
            for part in parts(hint):
                if isinstance(part, type) and is_dataclass(part):
                    classes_below(part, classes)
    return classes


def test_a_name_in_quotes_is_the_whole_annotation():
    classes = classes_below(RunReport, set())
    assert Schema in classes
    quoted = [
        (cls.__name__, name)
        for cls in classes
        for name, annotation in cls.__annotations__.items()
        if any(isinstance(part, str) for part in list(parts(annotation))[1:])
    ]
    assert quoted == []
