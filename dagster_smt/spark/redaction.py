"""Keeps secrets out of Spark's event log and web pages. The secrets are in Spark's settings, and in the options of
reads and writes.

Spark prints the options of a write into the event log. Spark hides an option if a regular expression matches the
option's name or value, but the default expression does not match private keys.
"""

import re
from collections.abc import Mapping
from typing import Any

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.secrets import SECRET_NAMES, names_secret

SETTING = "spark.redaction.regex"
OPTIONS_SETTING = "spark.sql.redaction.options.regex"
_SPARKS = {SETTING: "(?i)secret|password|token|access[.]?key", OPTIONS_SETTING: "(?i)url"}
"""Maps each Spark setting for redaction to its default, a regular expression."""
_OURS = f"(?i:secret|password|token|access[.]?key|{SECRET_NAMES}|PRIVATE KEY-----)"


def redacting(conf: Mapping[str, str], setting: str) -> str:
    """Returns a new value for ``setting``, one of Spark's regular expressions for redaction. The new expression also
    hides the secrets in all options and settings of this package.
    """
    return f"{conf.get(setting, _SPARKS[setting])}|{_OURS}"


def refuse_shown_secrets(session: Any, options: Mapping[str, str]) -> None:
    """Raises an error if Spark would write a secret option into its event log, because no regular expression for
    redaction matches the option.

    Args:
        session: The Spark session.
        options: The options of a read or write, which include secrets.

    Raises:
        ConfigError: SMT047, with one problem for each such option.
    """
    expressions = []
    for setting, standard in _SPARKS.items():
        expressions.append(session.conf.get(setting, standard))
    hint = (
        f"set {SETTING} (or {OPTIONS_SETTING}) in the conf of the session so that it finds the option's name, as "
        "SparkSessionResource does; or give the location of a file instead"
    )
    shown = []
    for key, value in options.items():
        if names_secret(key) and not any(_finds(expression, key, value) for expression in expressions):
            shown.append(
                Problem("SMT047", key, "holds a secret that the session would write into Spark's event log", hint)
            )
    if shown:
        raise ConfigError(shown)


def _finds(expression: str | None, key: str, value: str) -> bool:
    """Returns True if ``expression``, a Java regular expression, matches a part of ``key`` or ``value``.

    An expression that Python cannot read matches nothing.
    """
    try:
        # without an expression, nothing is redacted: ``$^`` matches only an empty text, which holds no secret
        compiled = re.compile(expression or "$^")
    except re.error:
        return False
    return bool(compiled.search(key) or compiled.search(value))
