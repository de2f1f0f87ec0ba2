"""What every transform and predicate owes: documentation, true examples, a place in ``ALL``, tests of every option."""

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from dagster_smt import predicates, transforms
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plugins import own
from dagster_smt.chain.plugins import predicates as known_predicates
from dagster_smt.chain.plugins import transforms as known_transforms
from dagster_smt.interpret.examples import is_envelope, run_example
from tests.transforms.helpers import chain_of, check

HERE = Path(__file__).parent
CLASSES = [*own(Transform), *own(Predicate)]
EXAMPLES = [(cls, example) for cls in CLASSES for example in cls.examples]
OPTIONS = [(cls, key) for cls in CLASSES for key in cls.keys()]


def packages(package):
    """A package and those inside it: one for each vendor, and the packages of helpers."""
    yield package
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if info.ispkg:
            yield from packages(importlib.import_module(info.name))


PACKAGES = [(p, base) for top, base in ((transforms, Transform), (predicates, Predicate)) for p in packages(top)]


def module_of(cls):
    return cls.__module__.rsplit(".", 1)[-1]


def tables_of(cls):
    """The test tables of a class: for each vendor there is a folder, as there is a package. Tables may share rows."""
    inside = cls.__module__.split(".")[2:-1]
    table, shared = HERE.joinpath(*inside, f"test_{module_of(cls)}.py"), HERE.joinpath(*inside, "common.py")
    if table.exists() and shared.exists() and "*common.rows(" in table.read_text():
        return [table, shared]
    return [path for path in (table,) if path.exists()]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_it_is_documented(cls):
    doc = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    assert doc.split("\n")[0].endswith(".") and doc.endswith(".")
    assert cls.examples
    assert cls.connect_class.replace("$", "").endswith("." + cls.__name__)


@pytest.mark.parametrize(("cls", "key"), OPTIONS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_every_option_says_what_it_is_for(cls, key):
    (option,) = (f for name, f in cls.model_fields.items() if (f.alias or name) == key)
    assert option.description and option.description.endswith(".")


@pytest.mark.parametrize(("cls", "key"), OPTIONS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_every_option_is_tried(cls, key):
    """In an example, or in the test table of the transform's own module."""
    in_table = any(f'"{key}":' in table.read_text() for table in tables_of(cls))
    assert in_table or any(key in example.options for example in cls.examples)


@pytest.mark.parametrize(("cls", "example"), EXAMPLES, ids=lambda x: x.__name__ if isinstance(x, type) else x.title)
def test_every_example_is_true(cls, example):
    check(cls, example)


@pytest.mark.parametrize(("cls", "example"), EXAMPLES, ids=lambda x: x.__name__ if isinstance(x, type) else x.title)
def test_the_page_shows_the_result_of_the_example(cls, example):
    """The page runs examples by code of its own."""
    result = run_example(cls, example)
    if example.after is None or result is None or example.shows in ("topic", "true", "false"):
        assert result == example.after
    else:
        assert payload(result) == payload(example.after)


def payload(text):
    """The JSON of a result. Schemas may be written in a shorter form, so they are left out."""
    data = json.loads(text)
    return data["payload"] if is_envelope(data) else data


@pytest.mark.parametrize(("package", "base"), PACKAGES, ids=lambda x: getattr(x, "__name__", None))
def test_every_class_is_listed_in_the_order_of_the_reference(package, base):
    result = set()
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if info.ispkg:
            continue
        members = inspect.getmembers(importlib.import_module(info.name), inspect.isclass)
        own = {cls for _, cls in members if cls.__module__ == info.name and issubclass(cls, base)}
        assert len(own) == (1 if hasattr(package, "ALL") else 0), info.name  # a package of helpers lists none
        result |= own
    listed = getattr(package, "ALL", ())
    assert set(listed) == result, f"list them in {package.__name__}.ALL"
    assert [c.__name__ for c in listed] == sorted(c.__name__ for c in listed)


def test_the_registry_knows_them_by_their_connect_names():
    assert set(CLASSES) <= {*known_transforms().values(), *known_predicates().values()}


@pytest.mark.parametrize("cls", own(Transform), ids=lambda c: c.__name__)
def test_its_ledger_is_made_from_the_configuration_alone(cls):
    from dagster_smt.model.reports.run_report import ACTIONS

    transform = chain_of(cls, cls.examples[0].options).stages[0].transform
    assert {effect.action for effect in transform.ledger()} <= set(ACTIONS)
    assert transform.ledger() == transform.ledger()


def test_they_work_without_spark_and_dagster():
    heavy = ("pyspark", "py4j", "dagster", "pandas", "pyarrow")
    code = (
        "import sys; from tests.transforms import test_every_transform as t\n"
        "for cls, example in t.EXAMPLES: t.check(cls, example)\n"
        f"print(*sorted(set(sys.modules) & {set(heavy)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parents[1], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
