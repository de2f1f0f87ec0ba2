"""A job that runs again what masks, drops and renames left as it was."""

from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.names import op_name
from dagster_smt.orchestration.definitions.partitions import OF_TIME
from dagster_smt.orchestration.runs.again import job_that_runs_again


def build_repair_job(asset: dg.AssetsDefinition, *, name: str = "") -> Any:
    """Make a job that runs again the records that are in a table as if a mask, drop or rename had not been there.

    The table remembers which: those of runs in which one touched nothing (the check ``dead_mask`` names them), or whose
    chain was another than the definition's and hid less. They are read from their topics again, with the chain as it is
    today, and replace their rows. Old files still hold the old rows until ``VACUUM`` or an expiry of snapshots. Of an
    asset with a partition per topic it is launched without one, for all topics; ``window.topics`` names some.

    Args:
        asset: An asset of ``build_smt_asset``.
        name: The job's name; after the asset by default.

    Raises:
        ConfigError: SMT355, its partitions are times: those are launched again themselves.
    """
    spec = next(iter(asset.specs))
    if isinstance(asset.partitions_def, OF_TIME):
        hint = "launch the partitions again: that replaces all of their records"
        raise ConfigError(Problem("SMT355", spec.key.to_user_string(), "its partitions are windows of time", hint))
    description = f"Run again what masks left unmasked in {spec.key.to_user_string()}, once its chain is mended."
    return job_that_runs_again(asset, "repair", name or f"{op_name(spec.key)}_repair", description)
