"""The transforms of whole records."""

from acme_transforms.transforms.records.drop_null import DropNull

ALL = (DropNull,)
