"""The transforms of fields; those of whole records are in a package of their own."""

from acme_transforms.transforms.hash_field import HashField

ALL = (HashField,)
