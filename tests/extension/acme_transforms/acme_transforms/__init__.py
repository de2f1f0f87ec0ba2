"""An example of a package with a transform and a predicate of its own."""
