"""The tables that the op of an asset writes, for jobs that maintain them."""

from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.orchestration.definitions.planned import PlannedAsset

WRITTEN: WeakKeyDictionary[Any, tuple[PlannedAsset, ...]] = WeakKeyDictionary()
"""The tables of each asset of ``build_smt_asset`` and ``build_smt_assets``, by the op of the asset."""
