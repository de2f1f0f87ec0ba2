"""Looks up the keys of encrypted fields. A registry stores data encryption keys (DEK). Each data encryption key is
itself encrypted with a key encryption key (KEK) of a key management service.

The clients of the registry, of the data keys and of the services come from ``confluent-kafka``, and the ciphers from
Tink.
"""

import base64
import binascii
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from dagster_smt.errors import DataError, EngineError, Problem, SmtError, data_error, needs_extras
from dagster_smt.formats.cache import Cache
from dagster_smt.formats.registry.client import Options, bounded_client, client_settings, silent_registry
from dagster_smt.formats.registry.rules import RegistryRule
from dagster_smt.model.secrets import resolved
from dagster_smt.model.topics.format import KMS, KMS_KEYS

_KEK = "encrypt.kek.name"
_ALGORITHM = "encrypt.dek.algorithm"
_EXPIRY = "encrypt.dek.expiry.days"
_ALTERNATES = "encrypt.alternate.kms.key.ids"
_VERSION = 5
"""The number of bytes before an encrypted value if the rule rotates keys: a zero byte, and the version of the data
key.
"""
_MOST_UNKNOWN = 100
_DAY = 86_400
"""A day, in seconds."""
_PACKAGE = "confluent_kafka.schema_registry.rules.encryption"
_DRIVERS = {
    "local-kms": ("localkms.local_driver", "LocalKmsDriver"),
    "aws-kms": ("awskms.aws_driver", "AwsKmsDriver"),
    "azure-kms": ("azurekms.azure_driver", "AzureKmsDriver"),
    "gcp-kms": ("gcpkms.gcp_driver", "GcpKmsDriver"),
    "hcvault": ("hcvault.hcvault_driver", "HcVaultKmsDriver"),
}
Decrypt = Callable[[bytes], bytes]
_KNOWN: Cache[tuple[Options, str, str, str, int], Decrypt] = Cache()
"""Caches functions that decrypt with a data key. A data key is identified by the options, the name of its key
encryption key, the algorithm, the subject and the version.
"""


@dataclass(frozen=True)
class _Writer:
    """A data key for encryption, with the time in seconds at which it expires."""

    version: int
    encrypt: Callable[[bytes], bytes]
    until: float


class DataKeys:
    """The data keys of one rule in one subject. Each data key is requested and decrypted only once.

    A record contains the version of its data key. An attacker could write a different unknown version into each record,
    and each version would cause a request. After ``_MOST_UNKNOWN`` versions that the registry does not have, the object
    therefore sends no more requests: it rejects every version that it has not requested before.
    """

    def __init__(self, options: Options, rule: RegistryRule, subject: str):
        parameters = dict(rule.parameters)
        self.options, self.subject = options, subject
        self.kek = parameters.get(_KEK, "")
        self.algorithm = parameters.get(_ALGORITHM, "AES256_GCM")
        self.days = parameters.get(_EXPIRY, "0").strip()
        self.rotates = self.days not in ("", "0")
        self.writer: _Writer | None = None
        self.unknown: set[int] = set()

    def opened(self, sealed: bytes, is_text: bool) -> bytes:
        """Returns the field ``sealed`` after decryption. The result is a string in UTF-8, or bytes.

        Args:
            sealed: The encrypted field.
            is_text: True if the field is a string. The encrypted field is then in Base64.

        Raises:
            DataError: SMT753 if the field cannot be decrypted, or if ``kms.keys`` does not allow its key.
            EngineError: SMT636 if the registry does not answer; SMT736 if the service does not decrypt the data key.
        """
        if is_text:
            try:
                sealed = base64.b64decode(sealed, validate=True)
            except (binascii.Error, ValueError):
                raise _sealed("the text is not encrypted") from None
        version = 1
        if self.rotates:
            if len(sealed) < _VERSION:
                raise _sealed("the text is not encrypted")
            # as in Confluent's clients, 0 stands for the version 1
            version, sealed = int.from_bytes(sealed[1:_VERSION], "big") or 1, sealed[_VERSION:]
        decrypt = self._key(version)
        try:
            plain = decrypt(sealed)
            if is_text:
                # a producer may have encrypted bytes that are not UTF-8, and the field is a string
                plain.decode()
        except Exception:  # noqa: BLE001 - Tink's own errors, whose messages do not help
            raise _sealed("another key encrypted it, or something changed it") from None
        return plain

    def _key(self, version: int) -> Decrypt:
        place = self.options, self.kek, self.algorithm, self.subject, version
        decrypt = _KNOWN.get(place)
        if decrypt is None:
            if version in self.unknown or len(self.unknown) >= _MOST_UNKNOWN:
                raise self._no_key(version)
            try:
                decrypt = _KNOWN[place] = self._requested(version)
            except DataError:
                self.unknown.add(version)
                raise
        return decrypt

    def sealed(self, plain: bytes, is_text: bool) -> bytes:
        """Returns the field ``plain`` encrypted with the latest data key. The method ``opened`` decrypts the result.

        Args:
            plain: The field: a string in UTF-8, or bytes.
            is_text: True if the field is a string.

        Raises:
            DataError: SMT753 if the registry does not have the key encryption key, or if ``kms.keys`` does not allow
                it.
            EngineError: SMT636 and SMT736, as in ``opened``.
        """
        if self.writer is None or time.time() > self.writer.until:
            self.writer = self._latest()
        data: bytes = self.writer.encrypt(plain)
        if self.rotates:
            data = b"\0" + self.writer.version.to_bytes(_VERSION - 1, "big") + data
        return base64.b64encode(data) if is_text else data

    def _requested(self, version: int) -> Decrypt:
        cryptor, kek, data_key = self._asked(version)
        if data_key is None:
            raise self._no_key(version)
        # the registry returns the key itself if it may use the key management service (a shared key)
        key = data_key.get_key_material_bytes() or _decrypted(self.options, kek, data_key)
        return lambda sealed: cryptor.decrypt(key, sealed, b"")

    def _latest(self) -> _Writer:
        """Returns the latest data key. If there is none, or if it has expired, creates a new data key."""
        # a rule without rotation uses only the version 1, and does not write the version into records
        cryptor, kek, data_key = self._asked(-1 if self.rotates else 1, deleted=False)
        days = float(self.days) if self.rotates else 0
        if data_key is None or (days and time.time() > (data_key.ts or 0) / 1000 + days * _DAY):
            data_key = self._created(cryptor, kek, (data_key.version or 0) + 1 if data_key else 1)
        key = data_key.get_key_material_bytes() or _decrypted(self.options, kek, data_key)
        until = (data_key.ts or 0) / 1000 + days * _DAY if days else math.inf
        return _Writer(data_key.version or 1, lambda plain: cryptor.encrypt(key, plain, b""), until)

    def _created(self, cryptor: Any, kek: Any, version: int) -> Any:
        """Registers ``version`` of the data key, encrypted with ``kek``, and returns the data key. If the registry
        already has this version, returns the registered key.
        """
        text = None
        # with a shared key, the registry itself creates and encrypts the data key
        if not kek.shared:
            sealed = _by_service(self.options, kek, lambda service: service.encrypt(cryptor.generate_key(), b""))
            text = base64.b64encode(sealed).decode()
        algorithm = cryptor.dek_format

        def ask(client: Any) -> Any:
            return client.register_dek(self.kek, self.subject, text, algorithm, version)

        # 409: another producer has created this version since this process asked for the latest one
        data_key = self._answer(ask, (409,))
        if data_key is None:
            data_key = self._asked(version, deleted=False)[2]
        if data_key is None:
            raise self._no_key(version)
        return data_key

    def _asked(self, version: int, *, deleted: bool = True) -> tuple[Any, Any, Any]:
        """Requests the version ``version`` of the data key from the registry; -1 stands for the latest version. Returns
        the cipher, the key encryption key and the data key.

        Returns None in place of the data key if the registry does not have it.
        """
        with needs_extras():
            from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import DekAlgorithm
            from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import Cryptor

        try:
            cryptor = Cryptor(DekAlgorithm(self.algorithm))
        except ValueError:
            raise _sealed(f"the algorithm {self.algorithm[:40]} is unknown") from None
        kek = self._answer(lambda client: client.get_kek(self.kek), (404,))
        if kek is None:
            raise _sealed(f"the registry has no key '{self.kek[:100]}'")

        def ask(client: Any) -> Any:
            return client.get_dek(self.kek, self.subject, cryptor.dek_format, version, deleted)

        return cryptor, kek, self._answer(ask, (404,))

    def _answer(self, ask: Callable[[Any], Any], nothing: tuple[int, ...]) -> Any:
        """Sends a request to the key registry by calling ``ask`` with a client, and returns the answer. Returns None if
        the registry answers with one of the status codes in ``nothing``, such as 404.
        """
        with needs_extras():
            from confluent_kafka.schema_registry.error import SchemaRegistryError

        url = dict(self.options)["url"]
        try:
            return ask(_client(self.options))
        except SchemaRegistryError as error:
            if error.http_status_code in nothing:
                return None
            raise silent_registry(url, f"it answers {error.http_status_code}") from None
        except Exception as error:  # noqa: BLE001 - whatever the HTTP client raises
            raise silent_registry(url, type(error).__name__) from None

    def _no_key(self, version: int) -> DataError:
        return _sealed(f"the registry has no version {version} of the key '{self.kek[:100]}' for {self.subject}")


@cache
def _client(options: Options) -> Any:
    from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import DekRegistryClient

    return bounded_client(DekRegistryClient, client_settings(options))


def _decrypted(options: Options, kek: Any, data_key: Any) -> bytes:
    """Returns the bytes of ``data_key``, decrypted by the key management service."""
    sealed = data_key.get_encrypted_key_material_bytes() or b""
    return _by_service(options, kek, lambda service: service.decrypt(sealed, b""))


def _by_service(options: Options, kek: Any, use: Callable[[Any], bytes]) -> bytes:
    """Calls the function ``use``, which encrypts or decrypts a data key, and returns the result. The argument of
    ``use`` is a Tink primitive that encrypts and decrypts with the key ``kek`` of a key management service.

    The key ``kek`` may have alternatives, such as copies in other regions. If ``use`` fails with one of these keys,
    ``use`` is called again with the next key.
    """
    settings = resolved(dict(options), "schema registry")
    properties = dict(kek.kms_props.properties) if kek.kms_props is not None else {}
    config = {}
    for key, value in settings.items():
        if key.startswith(KMS):
            config[key.removeprefix(KMS)] = value
    alternates = (properties.get(_ALTERNATES) or config.get(_ALTERNATES, "")).split(",")
    reason = ""
    for key_id in (kek.kms_key_id or "", *filter(None, map(str.strip, alternates))):
        address = f"{kek.kms_type}://{key_id}"
        if not _is_allowed(address, settings.get(KMS_KEYS, "")):
            # The registry names the key, so anyone who may write to it could otherwise stop every run of the table.
            raise _not_allowed(kek.name, address)
        try:
            return use(_driver(kek.kms_type).new_kms_client({**properties, **config}, address).get_aead(address))
        except SmtError:
            raise
        except ImportError as error:  # Tink's client of Google Cloud names no module
            missing = f"{error.name or f'a package for {kek.kms_type}'} is not installed"
            raise _closed(kek.name, f"{missing}; install confluent-kafka[rules]") from None
        except Exception as error:  # noqa: BLE001 - whatever the client of a service raises; the text may contain secrets
            reason = type(error).__name__
    raise _closed(kek.name, f"the key management service does not use it for us: {reason}")


def _is_allowed(address: str, prefixes: str) -> bool:
    """Returns True if the option ``kms.keys`` permits the key at ``address``. ``prefixes`` is the value of the option:
    addresses of keys, or beginnings of addresses, separated by commas.

    The beginning of an address must end with a slash or colon. ``aws-kms://arn:aws:`` permits all keys whose address
    begins with it, but ``aws-kms://arn`` permits no key.
    """
    for prefix in map(str.strip, prefixes.split(",")):
        if prefix and (address == prefix or (prefix[-1] in "/:" and address.startswith(prefix))):
            return True
    return False


def _driver(kind: str) -> Any:
    module, name = _DRIVERS[kind]
    with needs_extras():
        return getattr(import_module(f"{_PACKAGE}.{module}"), name)()


def _sealed(reason: str) -> DataError:
    hint = "check the producer, and the subject of the records; with rules=sealed, fields stay encrypted"
    return data_error("SMT753", f"a field cannot be decrypted or encrypted: {reason}", hint)


def _not_allowed(name: str, address: str) -> DataError:
    statement = f"the registry says that the key {str(name)[:100]} is {address[:200]}, which {KMS_KEYS} does not allow"
    return data_error("SMT753", f"a field cannot be decrypted or encrypted: {statement}", f"check {KMS_KEYS}")


def _closed(name: str, statement: str) -> EngineError:
    hint = "check kms.keys, the credentials in the options kms.…, and the rights on the key"
    return EngineError(Problem("SMT736", f"the key {str(name)[:100]} of encrypted fields", statement, hint))
