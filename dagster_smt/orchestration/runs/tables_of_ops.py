"""Stores which tables the op of each asset runs. The jobs that repair, redrive or maintain tables look them up here."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.orchestration.definitions.planned_table import PlannedAsset

TABLES_OF_OPS: WeakKeyDictionary[Any, Mapping[str, PlannedAsset]] = WeakKeyDictionary()
"""Maps the op of an asset to the tables of the asset. The key of a table is the name of its part in the run config.

The table of ``build_smt_asset`` uses the whole run config, so its key is an empty string.
"""


def run_config(op: str, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run config for the op ``op``, which contains the configs of its tables.

    Args:
        op: The name of the op.
        configs: The config of each table, by the table's key in the op's config. If the op runs a single table without
            such a key, the key is empty, and the table's config is the whole config of the op.
    """
    config = dict(configs[""]) if "" in configs else dict(configs)
    return {"ops": {op: {"config": config}}}
