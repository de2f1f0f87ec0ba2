"""What an asset is made of: a chain between a topic table and a sink, and how the asset looks in Dagster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.orchestration.checks import SmtChecks, check_specs, checks_of, contract_of
from dagster_smt.orchestration.definitions.partitions import topic_dimension
from dagster_smt.orchestration.definitions.translator import AssetLooks, SmtAssetData, SmtTranslator
from dagster_smt.orchestration.launch.config_schema import DeadPaths, Tolerance
from dagster_smt.orchestration.metadata.definition_metadata import DEAD_LETTER_PLACE
from dagster_smt.orchestration.runs.execution import SmtWork
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.spec import LetterPlace, Sink, TopicTable

ChainSource = Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain


@dataclass(frozen=True, kw_only=True)
class SmtTable(AssetLooks):
    """A table of ``build_smt_assets``; the fields are those of ``build_smt_asset``."""

    key: dg.AssetKey | Sequence[str] | str
    chain: ChainSource
    table: TopicTable
    sink: Sink
    errors_tolerance: Tolerance = "none"
    dead_letters: LetterPlace | None = None
    dead_letter_topic: str = ""
    checks: SmtChecks | None = None
    dead_paths: DeadPaths | None = None
    allow_chain_override: bool | None = None

    def prepared(self, translator: SmtTranslator | None = None) -> "Prepared":
        """Read the chain, plan it, and describe the asset.

        Raises:
            ConfigError: The chain is wrong, with all problems.
            PlanError: No record of the table's declared schema can pass the chain, or a mask, drop or rename can touch
                nothing.
        """
        asset_key = dg.AssetKey.from_coercible(self.key)
        chain = parsed_chain(self.chain, asset_key.to_user_string(), self.dead_paths)
        plan = plan_sink(chain, self.table, self.sink)
        translator = translator or SmtTranslator()
        data = SmtAssetData(
            key=asset_key,
            table=self.table,
            sink=self.sink,
            plan=plan,
            chain_file=self.chain if isinstance(self.chain, Path) else None,
            **{f.name: getattr(self, f.name) for f in fields(AssetLooks)},
        )
        # skippable: a run that finds nothing new observes, and does not materialize
        spec = translator.get_asset_spec(data).replace_attributes(skippable=True)
        topics = translator.get_topic_keys(data)
        dimension = topic_dimension(spec.partitions_def, spec.key.to_user_string())
        name = spec.key.to_user_string()
        checks = self.checks or SmtChecks()
        names = checks_of(checks, chain, self.sink, self.table.row)
        work = SmtWork(
            name=name,
            chain=chain,
            table=self.table,
            sink=self.sink,
            topics=topics,
            dead_letters=self.dead_letters,
            dead_letter_topic=self.dead_letter_topic,
            search_masked="masked_values" in names,
            contract=contract_of(checks, self.sink, name) if "contract" in names else None,
            allow_chain_override=self.allow_chain_override,
        )
        if work.letter_place:
            spec = spec.merge_attributes(metadata={DEAD_LETTER_PLACE: work.letter_place})
        return Prepared(work, spec, checks, names, self.errors_tolerance, dimension)


@dataclass(frozen=True)
class Prepared:
    """A table, ready to become an asset: its work, its spec, its checks."""

    work: SmtWork
    spec: dg.AssetSpec
    checks: SmtChecks
    check_names: Sequence[str]
    errors_tolerance: Tolerance
    topic_dimension: str = ""
    """The dimension of its partitions that names topics, where the other one is time."""

    @property
    def check_specs(self) -> list[dg.AssetCheckSpec]:
        """The specs of its checks."""
        return check_specs(self.spec.key, self.check_names, self.checks)


def parsed_chain(chain: ChainSource, name: str, dead_paths: DeadPaths | None = None) -> Chain:
    """The chain, whatever form it has.

    Args:
        chain: The chain.
        name: Who has it, for problems.
        dead_paths: What a mask, drop or rename is that can touch nothing; None: as the chain says.

    Raises:
        ConfigError: The chain is wrong, with all problems.
    """
    if not isinstance(chain, Chain):
        chain = parse_chain(chain, place=chain.name if isinstance(chain, Path) else f"{name} chain")
    return replace(chain, dead_paths=dead_paths or chain.dead_paths)
