"""References to the environment in place of secrets: ``${env:NAME}``, as Connect's ``EnvVarConfigProvider`` has them.

They are looked up when a client is made: a definition, its ``repr``, its metadata and its messages hold names only.
"""

import os
import re
from collections.abc import Mapping

from dagster_smt.errors import ConfigError, Problem

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(
    r"password|secret|token$|credential|user[.-]info|sasl\.oauthbearer\.assertion|(?:keystore|private)\.key", re.I
)


def resolved(values: Mapping[str, str], place: str) -> dict[str, str]:
    """The values, with references to the environment replaced.

    Raises:
        ConfigError: SMT582, for each variable that is not set.
    """
    hint = "set it where the run executes"
    missing = [
        Problem("SMT582", f"{place} {key}", f"refers to {name}, which is not in the environment", hint)
        for key, value in values.items()
        for name in _REFERENCE.findall(value)
        if name not in os.environ
    ]
    if missing:
        raise ConfigError(missing)
    return {key: _REFERENCE.sub(lambda m: os.environ[m[1]], value) for key, value in values.items()}


def as_reference(value: str) -> str:
    """A text as it is, a Dagster ``EnvVar`` as a reference (it is a ``str`` that refuses to be printed)."""
    return f"${{env:{value.env_var_name}}}" if hasattr(value, "env_var_name") else value


def is_reference(text: str) -> bool:
    """Whether a text is a reference and nothing else."""
    return _REFERENCE.fullmatch(text) is not None


def names_secret(key: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET.search(key) is not None


def refers(value: str) -> bool:
    """Whether a text has a reference in it."""
    return _REFERENCE.search(value) is not None
