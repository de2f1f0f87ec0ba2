"""Tools beside the product: the judge of parity, the reference pages, the gallery and the list of problem codes."""
