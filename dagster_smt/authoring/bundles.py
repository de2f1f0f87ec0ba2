"""Declares options that several transforms share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo

from dagster_smt.authoring.options import Flag, Text, option, path_items
from dagster_smt.authoring.validate import one_of
from dagster_smt.errors import ConfigError
from dagster_smt.model.java_text import trim
from dagster_smt.model.paths.connect import EXTENDED, V1, V2, FieldPath, parse_path
from dagster_smt.model.paths.steps import Match
from dagster_smt.values.java.regex import compile_java

_VERSIONS = {version.lower(): version for version in (V1, V2, EXTENDED)}


def _version(value: object) -> object:
    if isinstance(value, str):
        version = _VERSIONS.get(trim(value).lower())
    else:
        version = None
    if version is None:
        raise ValueError("must be one of (in any case): V1, V2, extended")
    return version


def by_syntax(marks: str = ",") -> BeforeValidator:
    """Returns a validator for an option with a list of paths. With the path syntax ``V2`` or ``extended``, the
    validator splits the list at commas, except inside backticks. With ``V1``, it returns the list unsplit, and a later
    validator splits it.

    ``marks`` is ``,`` for plain paths, and ``,:`` for pairs such as ``old:new``, which are also split at the colon. Use
    the validator only in subclasses of ``NestedPaths``, because it reads their option ``field.syntax.version``.
    """

    def split(value: Any, info: ValidationInfo) -> Any:
        # pydantic validates the fields of base classes first, and leaves a field that is wrong out of `info.data`
        version = info.data.get("field_syntax_version", V1)
        if version == V1:
            return value
        return path_items(value, marks, version)

    # pydantic runs the last before-validator of an annotation first, so this one runs before the one of `Names`
    return BeforeValidator(split)


class NullDefaults(BaseModel):
    """The option ``replace.null.with.default`` (KIP-1040)."""

    replace_null_with_default: Flag = option(
        "If `true`, a null field that has a default gets the default when its struct is copied.", True
    )


class NestedPaths(BaseModel):
    """The options ``field.syntax.version`` (KIP-821) and ``strict_paths``."""

    field_syntax_version: Annotated[str, BeforeValidator(_version)] = option(
        "The syntax of field paths. `V1`: a top-level name, dots included. `V2`: a path; dots separate steps, "
        "backticks protect names that contain dots. `extended`: V2 with [array elements, map keys, patterns and "
        "more](paths.md).",
        V1,
    )
    strict_paths: Annotated[Text, one_of("relaxed", "kafka")] = Field(
        "relaxed",
        alias="strict_paths",
        description="With a schema: `relaxed` allows a step into a map with string keys, `kafka` rejects such a step "
        "as Kafka does.",
    )

    def path(self, text: str) -> FieldPath:
        """Parses the configured path ``text`` with the configured syntax."""
        return parse_path(text, self.field_syntax_version)

    @property
    def nested(self) -> bool:
        """True if paths can have several steps."""
        return self.field_syntax_version != V1

    @property
    def strict(self) -> bool:
        """True if a plain name in a path must not select the key of a map (``strict_paths``)."""
        return self.strict_paths == "kafka"


def check_paths(
    option: str, texts: Iterable[str], parse: Callable[[str], FieldPath], single: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Yields a triple (option, statement, hint) for each wrong path in ``texts``, the configured paths.
    ``Options.check`` reports these problems.

    A path is wrong if ``parse`` rejects it, or if it is empty. With ``single``, a path that can match several fields is
    also wrong.
    """
    for text in texts:
        try:
            path = parse(text)
            # `parse` compiles no patterns; a wrong one is reported here, with all other problems of the chain
            for step in path.steps:
                if isinstance(step, Match):
                    compile_java(step.java)
        except ConfigError as error:
            for problem in error.problems:
                yield option, problem.statement, problem.hint
            continue
        if not path.steps:
            yield option, "the path is empty", "name a field"
        elif single and not path.single:
            statement = f"'{text}' can match many fields, but the option needs one value"
            yield option, statement, "name the field, with [0] for an element and ['key'] for a map value"


def named_twice(option: str, paths: Iterable[FieldPath]) -> Iterator[tuple[str, str, str]]:
    """Yields a problem for two paths that end with the same name, such as ``customer.id`` and ``order.id``. Use this
    check if the last names of the paths become the field names of one struct.
    """
    paths_by_name: dict[str, FieldPath] = {}
    for path in paths:
        other = paths_by_name.setdefault(path.leaf, path)
        if other is not path:
            statement = f"'{other}' and '{path}' would both be named '{path.leaf}'"
            yield option, statement, "use one of the two, or rename one first"
