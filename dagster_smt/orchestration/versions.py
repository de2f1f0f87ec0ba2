"""Code versions and data versions."""

import hashlib
import json
from collections.abc import Mapping

import dagster as dg

from dagster_smt.chain import Chain
from dagster_smt.tables.rows.stages import RowStage
from dagster_smt.version import __version__

EndOffsets = Mapping[str, Mapping[str, int]]


def code_version(chain: Chain) -> str:
    """Changes when the chain, the columns of its topic table or this package's version do."""
    columns = [repr(stage.transform) for stage in chain.stages if isinstance(stage, RowStage)]
    return digest([chain.hash, __version__, *columns])


def data_version(ends: EndOffsets, chain: Chain) -> dg.DataVersion:
    """Changes when there are new records or the chain is another."""
    return dg.DataVersion(digest([ends, chain.hash]))


def digest(data: object) -> str:
    """A short text that is another one for other data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
