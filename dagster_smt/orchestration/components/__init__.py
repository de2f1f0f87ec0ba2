"""Components: tables declared in ``defs.yaml``."""

from dagster_smt.orchestration.components.chain import SmtChainComponent as SmtChainComponent
from dagster_smt.orchestration.components.topic_collection import (
    SmtTopicCollectionComponent as SmtTopicCollectionComponent,
)
