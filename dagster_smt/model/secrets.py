"""What is a secret, and references to the environment in its place: ``${env:NAME}``, as Connect's
``EnvVarConfigProvider`` has them.

They are looked up when a client is made: a definition, its ``repr``, its metadata and its messages hold names only.
"""

import os
import re
from collections.abc import Mapping

from dagster_smt.errors import ConfigError, Problem

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
SECRET_NAMES = (
    r"passw(?:or)?d|passphrase|secret|token$|credential|user[.-]?info|oauthbearer[.]assertion|oauthbearer[.]config"
    r"|jaas|(?:keystore|private|account|key)[.-]?key(?:$|[.])|key[.-]pem|private[.-]?key"
)
"""Names of options that hold secrets, as an expression that Java and Python read alike; case does not matter."""
_SECRET = re.compile(SECRET_NAMES, re.I)
_NO_SECRET = re.compile(
    r"provider|location|path|[.-]file$|class$|enabled?$|mechanism|type$|name$|regex|ur[il]$|endpoint|size|length|bits"
    r"|interval|seconds|[.]secrets[.]|secretkeyref",
    re.I,
)
"""Names of settings that have such a word in them and hold none."""
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_LOGIN_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/\s?#]*)@")
_SHOWN_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s,]*@")
_JAAS = "sasl.jaas.config"
_IN_JAAS = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_SECRET_IN_JAAS = re.compile(r"pass|pwd|secret|token|key|cred|assertion|jwt|\bpin\b", re.I)
_NO_SECRET_IN_JAAS = re.compile(r"keytab|storekey|tokenauth|keyid|key[.]id|location|endpoint|ur[il]$|name$", re.I)


def shows_secret(key: str, value: str) -> bool:
    """Whether an option holds a secret in clear: not by reference to the environment.

    Args:
        key: The option's name.
        value: Its value, before references are looked up.
    """
    if _PRIVATE_KEY.search(value) or _has_login(value):
        return True
    if key.endswith(_JAAS):
        return any(_is_secret_of_jaas(*option) for option in _options_of_jaas(value))
    return names_secret(key) and not refers(value)


def setting_shows_secret(key: str, value: str) -> bool:
    """As ``shows_secret``, of a setting of Spark: many have such words in their names and hold none."""
    if _PRIVATE_KEY.search(value) or _has_login(value):
        return True
    named = names_secret(key) and not _NO_SECRET.search(key)
    return named and value.lower() not in ("", "true", "false") and not refers(value)


def _has_login(value: str) -> bool:
    """Whether an address in a text has a password in front of its host; a name without one may be a token."""
    for login in _LOGIN_IN_URL.findall(value):
        user, colon, password = _REFERENCE.sub("", login).partition(":")
        if password or (user and not colon):
            return True
    return False


def _options_of_jaas(value: str) -> list[tuple[str, str]]:
    return [(name, "".join(texts)) for name, *texts in _IN_JAAS.findall(value)]


def _is_secret_of_jaas(name: str, value: str) -> bool:
    if not _SECRET_IN_JAAS.search(name) or _NO_SECRET_IN_JAAS.search(name):
        return False
    return value.lower() not in ("", "true", "false") and not is_reference(value)


def without_login(text: str) -> str:
    """A text with addresses, without the names and passwords in them."""
    return _SHOWN_LOGIN.sub(r"\1", text)


def resolved(values: Mapping[str, str], place: str) -> dict[str, str]:
    """The values, with references to the environment replaced.

    Raises:
        ConfigError: SMT582, for each variable that is not set.
    """
    hint = "set it where the run executes"
    missing = []
    for key, value in values.items():
        for name in _REFERENCE.findall(value):
            if name not in os.environ:
                missing.append(
                    Problem("SMT582", f"{place} {key}", f"refers to {name}, which is not in the environment", hint)
                )
    if missing:
        raise ConfigError(missing)
    return {key: _REFERENCE.sub(lambda m: os.environ[m[1]], value) for key, value in values.items()}


def as_reference(value: str) -> str:
    """A text as it is, a Dagster ``EnvVar`` as a reference (it is a ``str`` that refuses to be printed)."""
    if hasattr(value, "env_var_name"):
        return f"${{env:{value.env_var_name}}}"
    return value


def is_reference(text: str) -> bool:
    """Whether a text is a reference and nothing else."""
    return _REFERENCE.fullmatch(text) is not None


def names_secret(key: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET.search(key) is not None


def refers(value: str) -> bool:
    """Whether a text has a reference in it."""
    return _REFERENCE.search(value) is not None
