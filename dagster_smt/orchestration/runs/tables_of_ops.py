"""Stores which tables the op of each asset runs. The jobs that repair, redrive or maintain tables look them up here."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset

TABLES_OF_OPS: WeakKeyDictionary[Any, Mapping[str, PlannedAsset]] = WeakKeyDictionary()
"""Maps the op of an asset to a dict from name to table. The dict contains the tables that the op runs. The name of a
table is the name of the table's part in the run config.

For an op with several tables, an example is ``{"orders": …, "customers": …}``. The op of ``build_smt_asset`` runs one
table, which uses the whole run config. The name of that table is an empty string.
"""


def tables_of(asset: dg.AssetsDefinition) -> Mapping[str, PlannedAsset]:
    """Returns the tables of ``asset``, as in ``TABLES_OF_OPS``; empty if the asset does not come from this package."""
    # an external asset has no node, and the node of a graph asset is a graph
    return TABLES_OF_OPS.get(asset.node_def, {}) if asset.is_executable else {}


def own_tables(asset: dg.AssetsDefinition, hint: str) -> Mapping[str, PlannedAsset]:
    """Returns the tables of ``asset``, as in ``TABLES_OF_OPS``.

    Args:
        asset: The asset.
        hint: The hint for the user if the asset does not come from this package.

    Raises:
        ConfigError: SMT813, the asset does not come from this package.
    """
    tables = tables_of(asset)
    if not tables:
        place = ", ".join(key.to_user_string() for key in asset.keys)
        statement = "the asset is not of build_smt_asset or build_smt_assets"
        raise ConfigError(Problem("SMT813", place, statement, hint))
    return tables


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
