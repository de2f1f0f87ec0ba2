"""Names of ops."""

import hashlib
import re

import dagster as dg


def op_name(key: dg.AssetKey) -> str:
    """Returns the name of an asset's op. A hash distinguishes keys whose names would be equal."""
    plain = all(re.fullmatch(r"[A-Za-z0-9_]+", part) and "__" not in part for part in key.path)
    name = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in key.path)
    if plain:
        return name
    return f"{name}_{hashlib.sha256(key.to_string().encode()).hexdigest()[:6]}"
