"""The predicates."""

from acme_transforms.predicates.topic_starts_with import TopicStartsWith

ALL = (TopicStartsWith,)
