"""The tables that the op of an asset runs, for jobs that run records again or maintain tables."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.orchestration.definitions.planned_table import PlannedAsset

TABLES_OF_OPS: WeakKeyDictionary[Any, Mapping[str, PlannedAsset]] = WeakKeyDictionary()
"""The tables of each asset, by the op of the asset, and there by the name of the table's part of the run config.

The one table of ``build_smt_asset`` has the whole run config: the name of its part is empty.
"""


def run_config(op: str, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run config of an op.

    Args:
        op: The name of the op.
        configs: The config of each table, by the name of its part; an empty name: the table has the whole config.
    """
    config = dict(configs[""]) if "" in configs else dict(configs)
    return {"ops": {op: {"config": config}}}
