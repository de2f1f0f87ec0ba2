"""Codes of problems: each means one thing, and the reference lists them all."""

from dagster_smt.tools.problem_codes import AREAS, by_code, codes_page, taken_twice, uses


def test_no_code_is_used_for_two_things():
    assert taken_twice() == [], (
        "take a code that is free (docs/reference/problem-codes.md), or add the module to SHARED"
    )


def test_a_code_that_is_taken_again_is_noticed(tmp_path):
    one = 'def f(x):\n    return refuse("SMT799", f"a {x} cannot be read", "hint")\n'
    other = 'def g():\n    told = "the disk is full"\n    raise SmtError(Problem("SMT799", "", told))\n'
    (tmp_path / "one.py").write_text(one)
    assert taken_twice(tmp_path) == []
    (tmp_path / "other.py").write_text(other)
    assert taken_twice(tmp_path) == ["SMT799: one, other"]
    assert [use.statement for use in uses(tmp_path)] == ["a … cannot be read", "the disk is full"]
    (tmp_path / "other.py").write_text(one)
    assert taken_twice(tmp_path) == [], "the same words mean the same thing"


def test_every_code_is_in_an_area_and_on_the_page():
    page = codes_page()
    assert all(code[3] in AREAS and f"| {code} | " in page for code in by_code())
    assert (
        "| SMT402 | a null key or value cannot be used for […] | `interpret/stage_runs`, `values/value_rule` |" in page
    )
