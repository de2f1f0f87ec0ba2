"""Models of ``defs.yaml`` from dataclasses: an option is declared once."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration.components.dataclass_models import ConfigSpelling, instance_of, model_of
from dagster_smt.orchestration.components.table_models import SINKS, SPELLINGS, _model
from dagster_smt.orchestration.docstrings import attribute_docs
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.launch.dataclass_fields import config_fields
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import DeltaSink, SourceColumns
from dagster_smt.tables.window_request import WindowRequest


@dataclass(frozen=True)
class KeyedSink(DeltaSink):
    """A Delta table
    with keys.

    More about it.

    Attributes:
        sort_keys: Columns of
            the ``key``.
        on_delete, on_update: ``keep`` or ``remove``.
    """

    sort_keys: tuple[str, ...] = ("id",)
    on_delete: Literal["keep", "remove"] = "keep"
    on_update: Literal["keep", "remove"] = "keep"
    limits: Mapping[str, int] = field(default_factory=dict)


def test_a_new_option_of_a_sink_needs_no_second_declaration():
    model = _model(KeyedSink)
    keys, on_delete = model.model_fields["sort_keys"], model.model_fields["on_delete"]
    assert model.__doc__ == "A Delta table with keys." and model.__name__ == "KeyedSinkModel"
    assert (keys.description, keys.default) == ("Columns of the `key`.", ("id",))
    assert on_delete.description == model.model_fields["on_update"].description == "`keep` or `remove`."
    assert model.model_fields["path"].description == attribute_docs(DeltaSink)["path"]
    data = model(path="lake", sort_keys=["a", "b"], on_delete="remove", value={"kind": "string"}, source_columns=None)
    sink = instance_of(KeyedSink, data.model_dump(), SPELLINGS, Path(), "sink")
    expected = KeyedSink("lake", sort_keys=["a", "b"], on_delete="remove", value=Format("string"), source_columns=None)
    assert sink == expected
    with pytest.raises(ValidationError, match="on_delete"):
        model(path="lake", on_delete="forget")
    with pytest.raises(ValidationError, match="on_insert"):
        model(path="lake", on_insert="keep")


def test_every_option_of_a_sink_is_in_its_model_and_has_a_description():
    for sink in SINKS.values():
        fields = _model(sink).model_fields
        options = {option.name for option in dataclasses.fields(sink)}
        if "topics" in options:
            options = options - {"topics"} | {option.name for option in dataclasses.fields(KafkaTopics)}
        assert fields.keys() == options
        assert all(option.description for option in fields.values())


def test_defaults_are_those_of_the_dataclass():
    for sink in (DeltaSink, KeyedSink):
        data = _model(sink)(path="lake").model_dump()
        assert instance_of(sink, data, SPELLINGS, Path(), "sink") == sink("lake")
    assert _model(DeltaSink)(path="lake").source_columns == SourceColumns().names


def test_a_spelling_knows_the_place_of_its_value():
    @dataclass
    class Options:
        """Options."""

        size: int | None = None

    spelling = ConfigSpelling(str, lambda text, folder, place: f"{place} {folder}/{text}")
    assert model_of(Options, {int: spelling})(size="7").size == "7"
    assert instance_of(Options, {"size": "7"}, {int: spelling}, Path("f"), "sink").size == "sink.size f/7"
    assert instance_of(Options, {"size": None}, {int: spelling}, Path("f"), "sink").size is None


def test_a_new_option_of_a_window_needs_no_second_declaration():
    @dataclass
    class Window:
        """A window.

        Attributes:
            least: At least
                this many.
            most: At most this many.
            again: Read again.
        """

        least: int
        most: float | None = None
        again: bool = False
        hidden: Path = Path()

    result = config_fields(Window, omit=("hidden",))
    assert {name: option.description for name, option in result.items()} == {
        "least": "At least this many.",
        "most": "At most this many.",
        "again": "Read again.",
    }
    assert result["least"].is_required and not result["most"].is_required
    assert result["most"].default_value is None and result["again"].default_value is False


def test_every_option_of_a_window_is_in_the_run_config():
    """What a run config cannot hold is decoded from other fields: ``everywhere`` from ``explicit``, ``cuts`` never."""
    window = smt_config_schema(parse_chain({"transforms": ""}))["window"].config_type.fields
    options = {option.name for option in dataclasses.fields(WindowRequest)}
    assert options - {"everywhere", "cuts"} == window.keys() - {"rebuild", "take_over", "settle"}
    assert all(option.description for option in window.values())
