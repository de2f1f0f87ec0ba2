"""Privacy: tags of fields, policies that decide by tag, the stages that follow, and the search for personal fields."""
