"""Code versions and data versions."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import dagster as dg

from dagster_smt.chain import Chain

EndOffsets = Mapping[str, Mapping[str, int]]


def package_version() -> str:
    """The installed version of this package; empty if it runs from a bare folder."""
    try:
        return version("dagster_smt")
    except PackageNotFoundError:
        return ""


def code_version(chain: Chain) -> str:
    """Changes when the chain or this package's version does."""
    return _digest([chain.hash, package_version()])


def data_version(ends: EndOffsets, chain: Chain) -> dg.DataVersion:
    """Changes when there are new records or the chain is another."""
    return dg.DataVersion(_digest([ends, chain.hash]))


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
