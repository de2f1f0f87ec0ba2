"""Builds a job that repairs the rows of records that a run should have masked, but did not."""

from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.op_names import OF_CHAIN
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME
from dagster_smt.orchestration.runs.rerun_jobs import job_that_runs_again
from dagster_smt.orchestration.runs.tables_of_ops import own_tables


def build_repair_job(asset: dg.AssetsDefinition, *, name: str = "") -> Any:
    """Builds a job that repairs the rows of records that a run of ``asset`` should have masked, but did not.

    For example, the mask for ``email`` was missing in one run, so the table contains emails in the clear. The state of
    the table remembers the records of two kinds of runs. In the first kind, a mask, drop or rename changed no record;
    the check ``dead_mask`` names these runs. In the second kind, the run config replaced the chain of the definition by
    a chain without one of its masks or drops.

    The job reads these records from their topics again, with the current chain, and replaces their rows. Old files
    still contain the old rows until ``VACUUM`` or an expiry of snapshots removes them. For an asset with a partition
    per topic, launch the job without a partition. The job then processes all topics, or the topics in
    ``window.topics``.

    Args:
        asset: An asset that ``build_smt_asset`` or ``build_smt_assets`` returns. The job runs all tables of the asset.
        name: The name of the job; by default the name is derived from the asset.

    Raises:
        ConfigError: SMT813, the asset does not come from this package; SMT355, the asset has time partitions. To repair
            its records, launch the partitions again.
    """
    own_tables(asset, "repair tables of other assets with the tools that write them")
    specs = [spec for spec in asset.specs if OF_CHAIN in spec.metadata] or list(asset.specs)
    if isinstance(asset.partitions_def, OF_TIME):
        hint = "launch the partitions again: that replaces all of their records"
        raise ConfigError(Problem("SMT355", specs[0].key.to_user_string(), "its partitions are windows of time", hint))
    return job_that_runs_again(asset, specs, "repair", name or f"{asset.op.name}_repair")
