"""Reads secrets from HashiCorp Vault over HTTP, from a key-value engine of version 2.

Each process that reads a secret takes the address, the token and the namespace from Vault's own variables
``VAULT_ADDR``, ``VAULT_TOKEN`` and ``VAULT_NAMESPACE``. ``secret/pii`` is the secret ``pii`` of the engine that is
mounted at ``secret``: ``GET $VAULT_ADDR/v1/secret/data/pii``.
"""

import json
import os
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_SECONDS = 10.0
_MOST_BYTES = 1 << 20


class _NoRedirects(HTTPRedirectHandler):
    """An HTTP handler that follows no redirect, because a redirect could send the token to another host."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


_opener = build_opener(_NoRedirects)


def secret_in_vault(path: str, key: str) -> tuple[str | None, str]:
    """Returns the string that a secret has under the key ``key``, and an empty reason: ``("pw1", "")``. If the secret
    cannot be read or has no such string, returns None and the reason: ``(None, "which does not answer")``. The reason
    is the end of a sentence.

    Args:
        path: The mount of the engine and the path of the secret: ``secret/pii``.
        key: The key in the data of the secret.
    """
    address, token = os.environ.get("VAULT_ADDR", ""), os.environ.get("VAULT_TOKEN", "")
    if not address or not token:
        return None, "which needs VAULT_ADDR and VAULT_TOKEN in the environment"
    if urlsplit(address).scheme not in ("http", "https"):
        return None, "but VAULT_ADDR is not an address with http or https"
    mount, _, rest = path.partition("/")
    url = f"{address.rstrip('/')}/v1/{quote(mount)}/data/{quote(rest)}"
    # a Vault Agent with require_request_header rejects requests without X-Vault-Request
    headers = {"X-Vault-Token": token, "X-Vault-Request": "true"}
    if namespace := os.environ.get("VAULT_NAMESPACE"):
        headers["X-Vault-Namespace"] = namespace
    try:
        with _opener.open(Request(url, headers=headers), timeout=_SECONDS) as answer:
            value = json.loads(answer.read(_MOST_BYTES))["data"]["data"].get(key)
    except HTTPError as error:
        return None, f"which Vault refuses with the status {error.code}"
    except (URLError, HTTPException, OSError):
        return None, "which does not answer"
    # the response may be any JSON, such as an array, or null in place of an object
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, "whose answer is not that of a key-value engine of version 2"
    if not isinstance(value, str):
        return None, "which has no text under this key"
    return value, ""
