"""Names ops, and finds the asset from which an op gets its name."""

import hashlib
import re

import dagster as dg

OF_CHAIN = "dagster_smt/chain_hash"
"""The key of a metadata entry that marks the main asset of an op. The op may have more assets: the tables in
``destinations``. These tables do not have the entry.
"""


def main_spec(asset: dg.AssetsDefinition) -> dg.AssetSpec:
    """Returns the main spec of ``asset``, which ``build_smt_asset`` returned: the spec with the asset's own key. If a
    chain writes many tables, ``asset`` also contains a spec for each table in ``destinations``.
    """
    specs = list(asset.specs)
    return next((spec for spec in specs if OF_CHAIN in spec.metadata), specs[0])


def op_name(key: dg.AssetKey) -> str:
    """Returns the name of the op for the asset ``key``: for ``lake/orders``, the name is ``lake__orders``.

    If the key contains ``__``, or a character that an op name cannot have, the name also ends with a hash of the key.
    Otherwise ``lake/a-b`` and ``lake/a_b`` would have the same name.
    """
    plain = all(re.fullmatch(r"[A-Za-z0-9_]+", part) and "__" not in part for part in key.path)
    name = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in key.path)
    if plain:
        return name
    return f"{name}_{hashlib.sha256(key.to_string().encode()).hexdigest()[:6]}"
