"""Recognizes secrets among options, and resolves references to secrets as Connect's configuration providers do.

``${env:NAME}`` is a variable of the environment, as for ``EnvVarConfigProvider``.
``${file:/run/db.properties:password}`` is a key of a properties file, as for ``FileConfigProvider``.
``${dir:/run/secrets:password}`` is a whole file in a folder, as for ``DirectoryConfigProvider``.
``${vault:secret/db:password}`` is a key of a secret in HashiCorp Vault (``model/vault.py``). A reference is resolved
when a client is created, or when a transform needs its key. A definition, its ``repr``, its metadata and its messages
only contain the names of variables, files and keys.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.properties import read_properties
from dagster_smt.model.vault import secret_in_vault

_REFERENCE = re.compile(r"\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|(file|dir|vault):([^:{}]+):([^:{}]+))\}")
"""A regular expression for a reference. Its groups are either the name of an environment variable, or a provider, a
path and a key.
"""
PATHS = "DAGSTER_SMT_SECRET_PATHS"
"""The environment variable that lists the permitted folders for references, separated by commas.

The variable corresponds to the option ``allowed.paths`` of Connect's providers (KIP-993). Without this variable,
references may name any folder.
"""
_MOST_BYTES = 1 << 20
"""The largest size of a file with secrets, in bytes."""
SECRET_NAMES = (
    r"passw(?:or)?d|passphrase|secret|token$|credential|user[.-]?info|oauthbearer[.]assertion|oauthbearer[.]config"
    r"|jaas|(?:keystore|private|account|key)[.-]?key(?:$|[.])|key[.-]pem|private[.-]?key"
)
"""Regular expressions for the names of options that contain secrets.

These expressions have the same meaning in Java and in Python, and ignore case.
"""
_SECRET = re.compile(SECRET_NAMES, re.I)
_NO_SECRET = re.compile(
    r"provider|location|path|[.-]file$|class$|enabled?$|mechanism|type$|name$|regex|ur[il]$|endpoint|size|length|bits"
    r"|interval|seconds|[.]secrets[.]|secretkeyref",
    re.I,
)
"""A regular expression for the names of settings that contain no secret, although they contain a word of
``SECRET_NAMES``.
"""
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_LOGIN_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/\s?#]*)@")
_SHOWN_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s,]*@")
_JAAS = "sasl.jaas.config"
_IN_JAAS = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_SECRET_IN_JAAS = re.compile(r"pass|pwd|secret|token|key|cred|assertion|jwt|\bpin\b", re.I)
_NO_SECRET_IN_JAAS = re.compile(r"keytab|storekey|tokenauth|keyid|key[.]id|location|endpoint|ur[il]$|name$", re.I)


def shows_secret(key: str, value: str) -> bool:
    """Returns True if ``value``, the value of an option, contains a secret in clear text instead of a reference.

    Args:
        key: The option's name.
        value: The option's value, with unresolved references.
    """
    if _PRIVATE_KEY.search(value) or _has_login(value):
        return True
    if key.endswith(_JAAS):
        for option in _options_of_jaas(value):
            if _is_secret_of_jaas(*option):
                return True
        return False
    return names_secret(key) and not refers(value)


def setting_shows_secret(key: str, value: str) -> bool:
    """Returns True if ``value``, the value of the Spark setting ``key``, contains a secret in clear text.

    This check is less strict than ``shows_secret``. Many Spark settings have a word such as ``token`` in their name,
    although their value is not secret.
    """
    if _PRIVATE_KEY.search(value) or _has_login(value):
        return True
    if not names_secret(key) or _NO_SECRET.search(key):
        return False
    return value.lower() not in ("", "true", "false") and not refers(value)


def _has_login(value: str) -> bool:
    """Returns True if an address in ``value`` contains a login before its host, such as ``https://user:password@host``.
    A name without a password is also a login, because it may be a token.
    """
    for login in _LOGIN_IN_URL.findall(value):
        # references are removed first, because ${env:USER}:${env:PASSWORD}@ shows no secret
        user, colon, password = _REFERENCE.sub("", login).partition(":")
        if password or (user and not colon):
            return True
    return False


def _options_of_jaas(value: str) -> list[tuple[str, str]]:
    options = []
    # an option has one of three forms: name="text", name='text' or name=text. Only one of the three groups has a text.
    for name, *texts in _IN_JAAS.findall(value):
        options.append((name, "".join(texts)))
    return options


def _is_secret_of_jaas(name: str, value: str) -> bool:
    if not _SECRET_IN_JAAS.search(name) or _NO_SECRET_IN_JAAS.search(name):
        return False
    return value.lower() not in ("", "true", "false") and not is_reference(value)


def without_login(text: str) -> str:
    """Returns ``text`` without the names and passwords in its addresses."""
    return _SHOWN_LOGIN.sub(r"\1", text)


def resolved(values: Mapping[str, str], place: str) -> dict[str, str]:
    """Returns ``values`` with each reference, such as ``${env:NAME}``, replaced with the secret to which it refers.
    ``place`` is the location of the values in error messages.

    Raises:
        ConfigError: SMT582, for each reference without a value.
    """
    problems: list[Problem] = []
    resolved_values = {}
    for key, value in values.items():
        resolved_values[key] = _REFERENCE.sub(partial(_looked_up, place=f"{place} {key}", problems=problems), value)
    if problems:
        raise ConfigError(problems)
    return resolved_values


def _looked_up(match: "re.Match[str]", place: str, problems: list[Problem]) -> str:
    """Returns the secret to which a reference such as ``${env:NAME}`` refers. ``match`` is a match of ``_REFERENCE``.
    If there is no such secret, returns an empty string and adds a problem to ``problems``. ``place`` is the location in
    the problem.
    """
    variable, provider, path, key = match.groups()
    if variable is not None:
        value, what = os.environ.get(variable), f"{variable}, which is not in the environment"
    elif provider == "vault":
        value, reason = secret_in_vault(path, key)
        what = f"the key {key} of the secret {path} in Vault, {reason}"
    elif provider == "file":
        value, what = _of_file(Path(path), key), f"the key {key} of the file {path}, which this process cannot read"
    else:
        value, what = _of_folder(Path(path), key), f"the file {key} in {path}, which this process cannot read"
    if value is None:
        problems.append(Problem("SMT582", place, f"refers to {what}", "set it where the run executes"))
        return ""
    return value


def _of_file(path: Path, key: str) -> str | None:
    text = _text_of(path)
    return None if text is None else read_properties(text).get(key)


def _of_folder(path: Path, name: str) -> str | None:
    # DirectoryConfigProvider also returns only files directly in the folder: ${dir:/run/secrets:../x} is no file in it
    if name in (".", "..") or Path(name).name != name:
        return None
    return _text_of(path / name)


def _text_of(path: Path) -> str | None:
    """Returns the text of the file ``path``. Returns None in three cases: the process cannot read the file, the file is
    too large, or the file is in no allowed folder (``DAGSTER_SMT_SECRET_PATHS``).
    """
    folders = []
    for folder in os.environ.get(PATHS, "").split(","):
        if folder.strip():
            folders.append(Path(folder.strip()))
    try:
        # links are resolved before the check: a link in an allowed folder may lead to a file outside of it
        real = path.resolve(strict=True)
        if folders and not any(real.is_relative_to(folder.resolve()) for folder in folders):
            return None
        # a device such as /dev/zero has no end
        if not real.is_file() or real.stat().st_size > _MOST_BYTES:
            return None
        return real.read_text(encoding="utf-8")
    # resolve raises a RuntimeError for links in a circle (before Python 3.13), and a ValueError for a path with a NUL
    except (OSError, UnicodeDecodeError, RuntimeError, ValueError):
        return None


def as_reference(value: str) -> str:
    """Returns Dagster's ``EnvVar("NAME")`` as the string ``${env:NAME}``. Any other string is returned unchanged.

    ``EnvVar`` is a subclass of ``str``, but as a string it is empty. It must therefore be converted before its text is
    used.
    """
    if hasattr(value, "env_var_name"):
        return f"${{env:{value.env_var_name}}}"
    return value


def is_reference(text: str) -> bool:
    """Returns True if ``text`` consists of exactly one reference."""
    return _REFERENCE.fullmatch(text) is not None


def names_secret(key: str) -> bool:
    """Returns True if an option called ``key`` contains a secret."""
    return _SECRET.search(key) is not None


def refers(value: str) -> bool:
    """Returns True if ``value`` contains a reference."""
    return _REFERENCE.search(value) is not None
