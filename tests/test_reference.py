"""The generated reference: what a page says of a transform and a predicate was seen to be true."""

import pytest

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plugins import own
from dagster_smt.chain.vendors import is_kafkas
from dagster_smt.tools.parity.runner import ParityReport
from dagster_smt.tools.reference import file_of, main, page, pages

CLASSES = [*own(Transform), *own(Predicate)]
SENTENCES = [
    ("MaskField", 'Before, the value: `{"name":"Ann"}`. After: `{"name":"***"}`.'),
    ("Filter", 'A record with the value `{"a":1}` is dropped.'),
    ("RegexRouter", "Before, the topic: `orders`. After: `x-ders`."),
    ("ValueToKey", 'Before, the value: `{"id":7,"shop":"a","x":1}`. After, the key: `{"shop":"a","id":7}`.'),
    ("DropHeaders", 'After: `[{"key":"id","value":"7"}]`.'),
    ("SetSchemaMetadata", '"name":"orders.Order","version":2},"payload":{"id":7}}`.'),
    ("Cast", "With a schema: `n` changed (int64 to string), `x` changed (float64 to int32)."),
    ("HasHeaderKey", 'With the headers `[{"key":"trace","value":"a"}]` it is true.'),
    ("RecordIsTombstone", "With the value `{}` it is false."),
]


@pytest.mark.parametrize(("name", "sentence"), SENTENCES)
def test_examples(name, sentence):
    (cls,) = (c for c in CLASSES if c.__name__ == name and is_kafkas(c.connect_class))
    assert sentence in page(cls, ParityReport())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_a_page_has_everything_that_is_declared(cls):
    text = page(cls, ParityReport())
    assert text.startswith(f"# {cls.__name__}\n\n`{cls.connect_class}")
    assert all(f"| `{key}` |" in text for key in cls.keys())
    assert text.count("## Example: ") == len(cls.examples)
    assert "`SMT" not in text, "an example failed"


def test_every_class_has_a_page():
    names = [name for name, _ in pages(CLASSES, ParityReport(), ParityReport())]
    assert {file_of(cls) for cls in CLASSES} <= set(names) and len(names) == len(set(names))


def test_stale_and_superfluous_pages_are_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--check"]) == 1
    assert capsys.readouterr().err.endswith("; run: make docs\n")
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "docs" / "reference" / "Old.md").write_text("")
    assert main(["--check"]) == 1
    assert "Old.md" in capsys.readouterr().err
    assert main([]) == 0
    assert not (tmp_path / "docs" / "reference" / "Old.md").exists()
