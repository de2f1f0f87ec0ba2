"""Builds a job that processes records again after a mask, drop or rename failed to change them."""

from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.op_names import OF_CHAIN
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME
from dagster_smt.orchestration.runs.rerun_jobs import job_that_runs_again


def build_repair_job(asset: dg.AssetsDefinition, *, name: str = "") -> Any:
    """Builds a job that processes records of ``asset`` again after a mask, drop or rename failed to change them.

    For example, the mask for ``email`` was missing in one run, so the table contains emails in the clear. The state of
    the table remembers such records, which come from two kinds of runs. In the first kind, a mask, drop or rename
    touched no record; the check ``dead_mask`` names these runs. In the second kind, the run config replaced the chain
    of the definition, and the replacement lacked a mask or drop.

    The job reads the records from their topics again, with the current chain, and replaces their rows. Old files still
    contain the old rows until ``VACUUM`` or an expiry of snapshots removes them. For an asset with a partition per
    topic, launch the job without a partition: the job then processes all topics, or the topics in ``window.topics``.

    Args:
        asset: An asset that ``build_smt_asset`` or ``build_smt_assets`` returns. The job runs all tables of the asset.
        name: The name of the job; by default the name is derived from the asset.

    Raises:
        ConfigError: SMT355, the partitions are time windows: launch the partitions again instead.
    """
    specs = [spec for spec in asset.specs if OF_CHAIN in spec.metadata] or list(asset.specs)
    if isinstance(asset.partitions_def, OF_TIME):
        hint = "launch the partitions again: that replaces all of their records"
        raise ConfigError(Problem("SMT355", specs[0].key.to_user_string(), "its partitions are windows of time", hint))
    return job_that_runs_again(asset, specs, "repair", name or f"{asset.op.name}_repair")
