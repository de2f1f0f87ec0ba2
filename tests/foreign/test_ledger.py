"""The ledger in Java finds the same changes of Kafka's transforms, whether it looks at the fields that the options name
or at all fields."""

from tests.foreign.java_judges import counts_of


def test_fields_that_options_name_are_all_that_a_transform_touches(tmp_path):
    changed, known = counts_of("LedgerJudge", 6000, tmp_path)
    assert changed > 3000 and known > 3000
