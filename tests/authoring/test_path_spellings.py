"""The tables of the reference page on field paths are true, with and without a schema."""

import json

import pytest

from dagster_smt.interpret.examples import run_once
from dagster_smt.tools.path_spellings import SITUATIONS, SPELLINGS
from dagster_smt.tools.reference import paths_page
from dagster_smt.transforms import kafka as transforms

BY_NAME = {cls.__name__: cls for cls in transforms.ALL}
RECORDS = {"both": (False, True), "with": (True,), "without": (False,)}
SITUATION_ROWS = [(case, typed) for case in SITUATIONS for typed in RECORDS[case.schema]]


def loaded(text):
    return text if text.startswith("refused: ") else json.loads(text)


@pytest.mark.parametrize("typed", [False, True], ids=["without schema", "with schema"])
@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: f"{spelling.version} {spelling.path}")
def test_spellings(spelling, typed):
    options = {"fields": [spelling.path], "replacement": "*", "field.syntax.version": spelling.version}
    assert loaded(run_once(BY_NAME["MaskField"], options, spelling.before, typed=typed)) == json.loads(spelling.after)


@pytest.mark.parametrize(("case", "typed"), SITUATION_ROWS, ids=lambda x: x if isinstance(x, bool) else x.what)
def test_situations(case, typed):
    assert loaded(run_once(BY_NAME[case.transform], case.settings, case.before, typed=typed)) == loaded(case.after)


def test_forms_are_told_apart_on_the_page():
    page = paths_page()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == len(set(rows)) == len(SPELLINGS) + len(SITUATIONS) + 2
    assert all(line.replace("\\|", "").count("|") == 6 for line in rows)
