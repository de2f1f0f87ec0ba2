"""Names of ops, and the asset that gives an op its name."""

import hashlib
import re

import dagster as dg

OF_CHAIN = "dagster_smt/chain_hash"
"""Metadata that the asset of a chain has, and assets beside it in the same op have not."""


def main_spec(asset: dg.AssetsDefinition) -> dg.AssetSpec:
    """Returns the spec of an asset of ``build_smt_asset``; tables that are assets of their own are in the same op."""
    specs = list(asset.specs)
    return next((spec for spec in specs if OF_CHAIN in spec.metadata), specs[0])


def op_name(key: dg.AssetKey) -> str:
    """Returns the name of an asset's op. A hash distinguishes keys whose names would be equal."""
    plain = all(re.fullmatch(r"[A-Za-z0-9_]+", part) and "__" not in part for part in key.path)
    name = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in key.path)
    if plain:
        return name
    return f"{name}_{hashlib.sha256(key.to_string().encode()).hexdigest()[:6]}"
