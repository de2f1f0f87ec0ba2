"""Privacy: tags of fields, policies that choose actions by tag, the stages of policies, and the search for personal
fields.
"""
