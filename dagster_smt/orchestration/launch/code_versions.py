"""Code versions and data versions."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from dagster_smt.chain import Chain
from dagster_smt.foreign.jars import digest_of, plugins_of
from dagster_smt.foreign.maven import coordinates_of
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, MOMENTS, PLAIN_DECIMALS
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.written_formats import written_formats
from dagster_smt.version import __version__

EndOffsets = Mapping[str, Mapping[str, int]]


def code_version(chain: Chain, table: TopicTable, sink: Sink) -> str:
    """Returns a code version. It changes if the chain, its jars, the columns of the topic table, the formats or the
    version of this package change.

    Only format options that can change values are considered. For example, the address of a schema registry is ignored.
    """
    columns = repr(table.row) if table.row else ""
    # a table of columns does not contain encoded keys and values
    written = written_formats(table, sink) if sink.kind == "records" else None
    formats = [table.key, table.value, *([written.key, written.value] if written else [])]
    encoded = [[form.kind, repr(form.schema), form.replace_null_with_default, form.decimal_format] for form in formats]
    options = (MOMENTS, PLAIN_DECIMALS)
    texts = []
    for form in formats:
        for name in options:
            if name in form.settings:
                texts.append([name, form.settings[name]])
    rows = [ARRAYS_AS_ROWS] if table.value.arrays_as_rows else []
    return digest([chain.hash, __version__, columns, *encoded, *rows, *texts, *_foreign_classes(chain)])


def _foreign_classes(chain: Chain) -> list[str]:
    """Returns a list of strings that identify the jars of ``chain``, for a code version. The first string is the
    version of Kafka Connect. Then each plugin has a string: its Maven coordinates, or a hash of its jars. If no stage
    of the chain runs from a jar, the list is empty.
    """
    if not chain.has_foreign:
        return []
    texts = [chain.foreign.connect_version]
    for plugin in plugins_of(chain.foreign.jars):
        # coordinates contain a version, and their jars may not have been fetched yet
        is_of_maven = coordinates_of(plugin.name) is not None and not Path(plugin.name).exists()
        texts.append(plugin.name if is_of_maven else digest_of(plugin.jars))
    return texts


def data_version(ends: EndOffsets, chain_hash: str) -> dg.DataVersion:
    """Returns a data version. It changes if new records change ``ends`` (the end offset of each topic-partition), or if
    the chain of the run changes.
    """
    return dg.DataVersion(digest([ends, chain_hash]))


def version_tags(version: dg.DataVersion) -> dict[str, str]:
    """Returns the tags that give an event the data version ``version``. Dagster sets these tags itself for a
    ``MaterializeResult``, but not for an ``AssetMaterialization``.
    """
    # without the second tag, Dagster takes the data version for one that it has computed itself
    return {"dagster/data_version": version.value, "dagster/data_version_is_user_provided": "true"}


def digest(data: object) -> str:
    """Returns a short hash of ``data``."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
