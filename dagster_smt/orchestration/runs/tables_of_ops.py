"""Stores which tables the op of each asset runs. The jobs that repair, redrive or maintain tables look them up here."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.orchestration.definitions.planned_table import PlannedAsset

TABLES_OF_OPS: WeakKeyDictionary[Any, Mapping[str, PlannedAsset]] = WeakKeyDictionary()
"""Maps the op of an asset to a dict from name to table. The dict contains the tables that the op runs. The name of a
table is the name of the table's part in the run config.

For an op with several tables, an example is ``{"orders": …, "customers": …}``. The op of ``build_smt_asset`` runs one
table, which uses the whole run config. The name of that table is an empty string.
"""


def run_config(op: str, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run config for the op ``op``: ``{"ops": {op: {"config": …}}}``.

    Args:
        op: The name of the op.
        configs: The config of each table. For an op with several tables, an example is
            ``{"orders": …, "customers": …}``. If the op runs one table, the only key is an empty string, and the config
            of this table becomes the whole config of the op.
    """
    config = dict(configs[""]) if "" in configs else dict(configs)
    return {"ops": {op: {"config": config}}}
