"""Stores the tables that the op of each asset runs. Jobs that repair, redrive or maintain tables need them."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.orchestration.definitions.planned_table import PlannedAsset

TABLES_OF_OPS: WeakKeyDictionary[Any, Mapping[str, PlannedAsset]] = WeakKeyDictionary()
"""Maps the op of an asset to the asset's tables, which are stored by the name of their part of the run config.

The only table of ``build_smt_asset`` gets the whole run config, so the name of its part is empty.
"""


def run_config(op: str, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run config for the op ``op`` with the configs of its tables.

    Args:
        op: The name of the op.
        configs: The config of each table, by the name of its part. If the name is empty, the table gets the whole
            config.
    """
    config = dict(configs[""]) if "" in configs else dict(configs)
    return {"ops": {op: {"config": config}}}
