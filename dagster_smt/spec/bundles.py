"""Options that several transforms share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from dagster_smt.errors import ConfigError
from dagster_smt.model.path import V1, V2, FieldPath, parse_path
from dagster_smt.spec.options import Flag, option


def _version(value: object) -> object:
    text = value.strip().upper() if isinstance(value, str) else value
    if text not in (V1, V2):
        raise ValueError("must be one of (in any case): V1, V2")
    return text


class NullDefaults(BaseModel):
    """``replace.null.with.default`` (KIP-1040)."""

    replace_null_with_default: Flag = option(
        "Whether a field that is null and has a default takes the default, wherever fields are copied.", True
    )


class NestedPaths(BaseModel):
    """``field.syntax.version`` (KIP-821)."""

    field_syntax_version: Annotated[str, BeforeValidator(_version)] = option(
        "How field names are read. `V1`: a name of the top level, dots included. `V2`: a path; dots separate steps, "
        "backticks protect names that contain dots.",
        V1,
    )

    def path(self, text: str) -> FieldPath:
        """Parse a configured path in the configured syntax."""
        return parse_path(text, self.field_syntax_version)


def check_paths(
    option: str, texts: Iterable[str], parse: Callable[[str], FieldPath]
) -> Iterator[tuple[str, str, str]]:
    """Problems of configured paths, for ``Options.check``."""
    for text in texts:
        try:
            steps = parse(text).steps
        except ConfigError as error:
            for problem in error.problems:
                yield option, problem.statement, problem.hint
            continue
        if not steps:
            yield option, "the path is empty", "name a field"
