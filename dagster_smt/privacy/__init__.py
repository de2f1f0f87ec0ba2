"""Privacy: field tags, policies that choose actions by tag, the resulting stages, and the search for personal fields."""
