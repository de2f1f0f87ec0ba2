"""Components, which declare tables in ``defs.yaml``."""

from dagster_smt.orchestration.components.chain import SmtChainComponent as SmtChainComponent
from dagster_smt.orchestration.components.topic_collection_component import (
    SmtTopicCollectionComponent as SmtTopicCollectionComponent,
)
