"""Privacy: field tags, policies that choose actions by tag, the stages of a policy, and the personal field search."""
