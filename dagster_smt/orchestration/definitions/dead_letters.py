"""Presents dead letters in Dagster: builds an asset that shows dead letters, and a job that runs failed records
again.
"""

from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME
from dagster_smt.orchestration.metadata.definition_metadata import DEAD_LETTER_PLACE, dead_letters_key
from dagster_smt.orchestration.runs.rerun_jobs import job_that_runs_again


def build_dead_letters_asset(asset: dg.AssetsDefinition) -> dg.AssetSpec:
    """Builds an asset that shows the dead letters of a table. If a run of the table publishes dead letters, it also
    materializes this asset.

    Args:
        asset: An asset that ``build_smt_asset`` returns and that has dead letters.

    Raises:
        ConfigError: SMT043, the asset has no dead letters.
    """
    spec = _specs_with_letters(asset)[0]
    place = spec.metadata[DEAD_LETTER_PLACE]
    return dg.AssetSpec(
        dead_letters_key(spec.key),
        deps=[spec.key],
        group_name=spec.group_name,
        owners=spec.owners,
        metadata={DEAD_LETTER_PLACE: place},
        description=f"Records that failed on their way into {spec.key.to_user_string()}: originals, unmasked.",
    )


def build_redrive_job(asset: dg.AssetsDefinition, *, name: str = "") -> Any:
    """Builds a job that runs the failed records of a table again, with the current chain.

    The job reads only the failed records, and adds their rows to the table. If a record fails again, its dead letter
    stays, and the next launch reads the record again. For an asset with a partition per topic, launch the job without a
    partition. The job then runs the failed records of all topics, or of the topics in ``window.topics``.

    Args:
        asset: An asset with dead letters that ``build_smt_asset`` or ``build_smt_assets`` returns. If the asset has
            several tables, the job runs the tables with dead letters.
        name: The name of the job; by default the name is derived from the asset.

    Raises:
        ConfigError: SMT043, the asset has no dead letters, or it has time partitions. To run failed records of a time
            partition, launch the partition again.
    """
    specs = _specs_with_letters(asset)
    if isinstance(asset.partitions_def, OF_TIME):
        hint = "launch the partitions again: that replaces all of their records"
        raise ConfigError(Problem("SMT043", specs[0].key.to_user_string(), "its partitions are windows of time", hint))
    return job_that_runs_again(asset, specs, "redrive", name or f"{asset.op.name}_redrive")


def _specs_with_letters(asset: dg.AssetsDefinition) -> list[dg.AssetSpec]:
    """Returns the specs of those tables of ``asset`` that have dead letters. Raises an error if no table has dead
    letters.
    """
    specs = [spec for spec in asset.specs if DEAD_LETTER_PLACE in spec.metadata]
    if not specs:
        hint = "give build_smt_asset a dead_letter_topic, or dead_letters"
        place = next(iter(asset.specs)).key.to_user_string()
        raise ConfigError(Problem("SMT043", place, "the asset has no dead letters", hint))
    return specs
