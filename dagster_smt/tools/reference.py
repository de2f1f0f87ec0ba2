"""Generates the reference: one page per transform and predicate, and the parity matrix.

``python -m dagster_smt.tools.reference`` writes ``docs/reference``; ``--check`` fails if a page is stale.
"""

import argparse
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from pydantic_core import PydanticUndefined

from dagster_smt.authoring.bundles import NestedPaths
from dagster_smt.authoring.options import Options
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.chain.plugins import own
from dagster_smt.chain.stages import as_text
from dagster_smt.chain.vendors import by_vendor, is_kafkas
from dagster_smt.interpret.examples import example_chain, run_example, run_once, set_example_key, with_schema
from dagster_smt.model.reports.markdown import code
from dagster_smt.tools import gallery
from dagster_smt.tools.parity.judge import REASONS
from dagster_smt.tools.parity.report_table import COLUMNS, matrix
from dagster_smt.tools.parity.runner import DELIBERATE, ParityReport, run_files
from dagster_smt.tools.path_spellings import SITUATIONS, SPELLINGS
from dagster_smt.tools.problem_codes import codes_page

FOLDER, CASES = Path("docs/reference"), Path("tests/parity")
_PATHS = """
    `field.syntax.version` selects the path syntax:

    - `V1` (the default): the path is the name of a top-level field, even if it contains dots.
    - `V2` (KIP-821): dots separate steps, so `a.b` is the field `b` of `a`. A step in backticks is a literal name. A
      backtick before a dot or at the end closes the step, unless a backslash precedes this backtick. A step without
      its closing backtick is a configuration error.
    - `extended`: the syntax of V2, and the additional steps in the table under "Forms". This package
      calls the value `extended` and not `V3`, so that it cannot conflict with a later version of Kafka's syntax.

    Some options are lists of paths (`fields`, `include`, `renames`, `spec`). Commas and colons separate the items of
    these lists. Exception: a comma or colon inside backticks, brackets or a pattern is part of the path.

    Lineage, masked columns, the schema diff, `explain`, `preview`, the catalog and messages spell paths in the same
    way. They put a name into backticks if the name would otherwise have a different meaning. For example, `` `a.b` ``
    is the top-level field whose name has a dot, and `a.b` is the field `b` of `a`.

    If one path matches a value, and another path matches a part of this value, the part changes first: with the paths
    `a` and `a.b`, the field `b` changes before `a`. If a field changes, the structs around the field are rebuilt. Each
    rebuilt struct keeps its name, version, doc, parameters, optionality and default.

    With a schema, the plan of the chain (computed once per schema) resolves the paths:

    - `dagster-smt explain` and the ledger (the counts per path) list the fields that a pattern matches. A path without
      a match causes a warning with the nearest names.
    - A step that is a name may select a key of a map with string keys. For example, if `attrs` is a map, `attrs.size`
      is the value under the key `size`. Kafka rejects a path into a map. With `strict_paths=kafka`, this package also
      rejects the path.
    - All values of a map share one type, so a stage cannot change the type of a single value. A stage that would
      change the type of one value rejects a path that names the value, and skips the value if the path contains `**`.

    Without a schema, the step `type(...)` tests the value itself: whole numbers are `int64`, and other numbers are
    `float64`. An object is a map and also a struct, so `type(map)` and `type(struct)` both match the object.

    A transform that needs exactly one value, such as `ExtractField`, rejects a path that can match several values. The
    path of a field that a transform creates, as `InsertField` does, may only consist of names.
"""
_NULLS = {
    "pass": "A null key or value passes through unchanged.",
    "reject": "A null key or value is rejected: the record fails.",
    "apply": "A null key or value stays null, and gets the new schema that the text above describes.",
    "drop": "A record with a null key or value is dropped.",
    "wrap": "A null key or value is transformed like any other key or value.",
}


def pages(classes: Sequence[type[Options]], report: ParityReport, vendors: ParityReport) -> Iterator[tuple[str, str]]:
    """Yields (file name, text) of every page of the reference."""
    for cls in classes:
        yield file_of(cls), page(cls, report)
    yield "paths.md", paths_page()
    yield "parity.md", parity_page(report, vendors)
    yield "problem-codes.md", codes_page()
    if gallery.FILE.exists():
        yield "gallery.md", gallery.page(gallery.entries())
    yield "README.md", index_page(classes)


def file_of(cls: type[Options]) -> str:
    """Returns the file name of the page about ``cls``. The page about a vendor's class is in a folder with the vendor's
    name. The page about a class of Kafka is in no subfolder.
    """
    if _is_own(cls) and not is_kafkas(cls.connect_class):
        # the class in dagster_smt.transforms.debezium.event_router has its page in the folder "debezium"
        inside = cls.__module__.split(".")[2:-1]
    else:
        inside = []
    return "/".join([*inside, f"{cls.__name__}.md"])


def _is_own(cls: type[Options]) -> bool:
    return cls.__module__.startswith("dagster_smt.")


def page(cls: type[Options], report: ParityReport) -> str:
    """Returns the page about one transform or predicate."""
    parts = [f"# {cls.__name__}", f"`{cls.connect_class}{_sides(cls)}`", inspect.cleandoc(cls.__doc__ or "")]
    parts.append(_options(cls))
    if issubclass(cls, Transform):
        parts += _null(cls)
        parts += [_example(cls, example) for example in cls.examples]
    elif issubclass(cls, Predicate):
        parts += [_predicate_example(cls, example) for example in cls.examples]
    parts += [_parity(cls.__name__, report)] if is_kafkas(cls.connect_class) else []
    text = "\n\n".join(parts) + "\n"
    # docstrings link to paths.md as if they were in its folder, but the page of a vendor's class is in a subfolder
    return text.replace("](paths.md)", f"]({'../' * file_of(cls).count('/')}paths.md)")


def _null(cls: type[Transform]) -> list[str]:
    one = cls.model_validate(cls.examples[0].options)
    if not (cls.sided or one.reads & {"value", "key"}) or (cls.null == "apply" and not cls.sided):
        return []
    if cls.sided:
        side = "key or value"
    elif "value" in one.reads:
        side = "value"
    else:
        side = "key"
    if cls.on_null is Transform.on_null:
        text = _NULLS[cls.null]
    else:
        text = "An option determines the treatment of a null key or value."
    return ["## Null\n\n" + text.replace("key or value", side)]


def _sides(cls: type[Options]) -> str:
    if getattr(cls, "sided", False):
        return "$Key`, `$Value"
    return ""


def _options(cls: type[Options]) -> str:
    if not cls.model_fields:
        return "It has no options."
    rows = ["| option | default | meaning |", "|---|---|---|"]
    for name, field in cls.model_fields.items():
        if field.default is PydanticUndefined:
            default = "required"
        else:
            default = _default(field.default)
        rows.append(f"| `{field.alias or name}` | {default} | {field.description} |")
    return "## Options\n\n" + "\n".join(rows)


def _default(value: object) -> str:
    if value in (None, (), ""):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _example(cls: type[Transform], example: Example) -> str:
    text = _properties(example, "transforms", "t", example_chain(cls, example).stages[0].connect_class)
    result, part = run_example(cls, example), example.input_part or example.shows
    if result is None:
        text += f"A record with the {part} `{example.before}` is dropped."
    else:
        other = "" if part == example.shows else f", the {example.shows}"
        text += f"Before, the {part}: `{example.before}`. After{other}: `{result}`."
    schema = with_schema(cls, example)
    return text + (f"\n\nWith a schema: {schema}." if schema else "")


def _predicate_example(cls: type[Predicate], example: Example) -> str:
    text = _properties(example, "predicates", "p", cls.connect_class)
    return f"{text}With the {example.input_part or example.shows} `{example.before}` it is {run_example(cls, example)}."


def _properties(example: Example, kind: str, alias: str, connect_class: str) -> str:
    options = []
    for key, value in example.options.items():
        options.append(f"{kind}.{alias}.{key}={as_text(value)}")
    lines = [f"{kind}={alias}", f"{kind}.{alias}.type={connect_class}", *options]
    return f"## Example: {example.title}\n\n```properties\n" + "\n".join(lines) + "\n```\n\n"


def _parity(name: str, report: ParityReport) -> str:
    rows = []
    for transform, mode, counts in matrix(report):
        if transform == name:
            rows.append((mode, counts))
    lines = [
        "## Parity with Kafka 4.3.1",
        "",
        f"| records | {' | '.join(COLUMNS)} |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for mode, counts in rows:
        lines.append(f"| {mode} | {' | '.join(map(str, counts))} |")
    decisions_of_class = set()
    for v in report.verdicts:
        if v.verdict == DELIBERATE and name in v.transforms:
            decisions_of_class.add(v.decision)
    decisions = sorted(decisions_of_class)
    lines += ["", *(f"- {d}: {REASONS[d]}" for d in decisions)] if decisions else []
    return "\n".join(lines)


def paths_page() -> str:
    """Returns the page about field paths. It shows all spellings and situations, which the tests also check."""
    known = {}
    for cls in own(Transform):
        if is_kafkas(cls.connect_class):
            known[cls.__name__] = cls
    names = []
    for cls in own(Transform):
        if issubclass(cls, NestedPaths):
            names.append(f"`{cls.__name__}`")
    who = f"These transforms accept field paths: {', '.join(names[:-1])} and {names[-1]}."
    first, _, others = inspect.cleandoc(_PATHS).partition("\n\n")
    lines = ["# Field paths", "", *textwrap.wrap(f"{who} {first}", 120)]
    lines += ["", others, "", "## Forms", ""]
    lines += ["The results of `MaskField` with `replacement=*`.", "", "| syntax | path | matches | before | after |"]
    lines.append("|---" * 5 + "|")
    for form in SPELLINGS:
        options = {"fields": [form.path], "replacement": "*", "field.syntax.version": form.version}
        after = run_once(known["MaskField"], options, form.before, typed=False)
        lines.append(
            f"| {form.version} | {_code(form.path)} | {form.reaches} | {_code(form.before)} | {_code(after)} |"
        )
    lines += ["", "## Situations", "", "| situation | records | transform | before | after |", "|---" * 5 + "|"]
    for case in SITUATIONS:
        after = run_once(known[case.transform], case.settings, case.before, typed=case.schema == "with")
        texts = []
        for key, value in case.options.items():
            texts.append(_code(f"{key}={value}"))
        used = ", ".join(texts)
        records = {"both": "all", "with": "with schema", "without": "without schema"}[case.schema]
        shown = after if after.startswith("refused: ") else _code(after)
        lines.append(f"| {case.what} | {records} | {case.transform} {used} | {_code(case.before)} | {shown} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Returns ``text`` as code for a cell of a table."""
    # in Markdown, a bar ends the cell of a table even if the bar is inside code
    return code(text).replace("|", "\\|")


def parity_page(report: ParityReport, vendors: ParityReport) -> str:
    """Returns the page with the parity results of all transforms."""
    head = [
        "# Parity with Kafka Connect 4.3.1",
        "",
        "A case is a chain with records, for which Kafka Connect's result was recorded. For this page, the Python",
        "evaluator ran all cases. The table counts a case under each transform and predicate of its chain. The",
        "differences D6 to D8 and D10 occur only on the Spark evaluator; to run the cases on Spark, use",
        "`dagster-smt parity --spark`.",
        "",
    ]
    between = [
        "",
        "## Debezium 3.6.1 and Aiven 1.6.0",
        "",
        "These cases were recorded from the vendors' own classes on Kafka Connect 4.3.1. FieldValueMatches is newer",
        "than Aiven 1.6.0. Confluent's classes are not public, so there are no recorded cases for them.",
        "",
    ]
    rules = []
    for d, reason in REASONS.items():
        rules.append(f"- **{d}** {reason}.")
    lines = [*head, *_matrix(report), *between, *_matrix(vendors), "", "## Deliberate differences", "", *rules, ""]
    lines += [
        "Where possible, the tests switch off the cause of a difference and run the case again. The result must then",
        "match Kafka's.",
        "[Decision 29](../decisions/0029-differences-from-the-vendors-have-rules.md) gives the reasons for D9 to D12.",
        "",
        "| deliberate | Kafka | Debezium, Aiven |",
        "|---|---|---|",
        *(f"| {d} | {_count(report, d)} | {_count(vendors, d)} |" for d in REASONS),
    ]
    return "\n".join(lines) + "\n"


def _matrix(report: ParityReport) -> list[str]:
    head = [f"| transform | records | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    rows = []
    for name, mode, counts in matrix(report):
        rows.append(f"| {name} | {mode} | {' | '.join(map(str, counts))} |")
    totals = [len(report.verdicts), *map(report.count, COLUMNS[1:])]
    return [*head, *rows, f"| all cases | | {' | '.join(map(str, totals))} |"]


def _count(report: ParityReport, decision: str) -> int:
    return sum(verdict.decision == decision for verdict in report.verdicts)


def index_page(classes: Sequence[type[Options]]) -> str:
    """Returns the page that lists all pages about ``classes``."""
    lines = ["# Reference", "", "Generated by `make docs`; do not edit.", ""]
    for title, base in (("Transforms", Transform), ("Predicates", Predicate)):
        classes_by_name = {}
        for cls in classes:
            if issubclass(cls, base):
                classes_by_name[cls.connect_class] = cls
        for vendor, names in by_vendor(classes_by_name).items():
            lines += [f"## {title}" + ("" if is_kafkas(names[0]) else f" from {vendor}"), ""]
            for cls in map(classes_by_name.__getitem__, names):
                lines.append(f"- [{cls.__name__}]({file_of(cls)}): {(cls.__doc__ or '').splitlines()[0]}")
            lines.append("")
    return (
        "\n".join(
            [
                *lines,
                "See also: [field paths](paths.md), the [gallery of chains](gallery.md), [parity with Kafka "
                "Connect](parity.md) and the [problem codes](problem-codes.md).",
            ]
        )
        + "\n"
    )


@cache
def page_texts() -> dict[str, str]:
    """Returns the text of each page, by its name. The first call in a process runs all recorded cases; later calls
    return the same texts.
    """
    set_example_key()
    classes = [*own(Transform), *own(Predicate)]
    report = run_files(sorted(CASES.glob("*.jsonl")))
    vendors = run_files(sorted((CASES / "vendors").glob("*.jsonl.gz")))
    return dict(pages(classes, report, vendors))


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the pages, or only checks them if the arguments contain ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m dagster_smt.tools.reference")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    check = parser.parse_args(argv).check
    texts = page_texts()
    have = {}
    for p in FOLDER.rglob("*.md"):
        have[p.relative_to(FOLDER).as_posix()] = p.read_text(encoding="utf-8")
    different = []
    for name in texts.keys() | have.keys():
        if texts.get(name) != have.get(name):
            different.append(name)
    stale = sorted(different)
    if check:
        if stale:
            print(f"stale pages in {FOLDER}: {', '.join(stale)}; run: make docs", file=sys.stderr)
        return int(bool(stale))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in have.keys() - texts.keys():
        (FOLDER / name).unlink()
    for name, text in texts.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(texts)} pages in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
