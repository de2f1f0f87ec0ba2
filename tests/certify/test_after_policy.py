"""A chain behind a policy: the policy's stages are not comparable, and the other stages are compared behind them."""

import json

import pytest

from dagster_smt.certify import certify
from dagster_smt.certify.after_policy import WHY
from dagster_smt.errors import ConfigError, UnsupportedError
from dagster_smt.model.topics.format import Format
from tests.certify.records import SECRET, chain_of, samples
from tests.lineage.test_edges import applied

CAST = ("Cast$Value", {"spec": "id:string"})
ORDER = {"id": 7, "who": SECRET, "at": {"city": "x"}, "note": SECRET, "price": 1.5, "new": SECRET}


def certified(tmp_path, *stages, values=(ORDER,), **more):
    policy = applied(tmp_path, None)
    chain = policy.on(chain_of(*stages))
    return chain, certify(chain, samples(*values), **more)


@pytest.mark.long
def test_stages_of_a_policy_are_not_comparable(tmp_path):
    chain, certificate = certified(tmp_path, CAST)
    count = len(chain.stages) - 1
    assert count and certificate.verdict == "equal" and certificate.hash == chain.hash
    assert [stage.same for stage in certificate.stages] == [WHY] * count + [""]
    verdicts = [certificate.verdict_of(stage) for stage in range(count + 1)]
    assert verdicts == ["not comparable"] * count + ["equal"]
    assert f"{count} of {count + 1} stages cannot be compared" in certificate.statement
    assert SECRET not in json.dumps(certificate.to_json())


def test_a_difference_behind_a_policy_has_its_stage(tmp_path):
    """A number beyond 64 bits: Connect wraps it, after the policy has left it."""
    big = {"id": 12345678901234567890, "who": "x"}
    chain, certificate = certified(tmp_path, CAST, values=(big, ORDER))
    (finding,) = [finding for finding in certificate.findings if finding.stage >= 0]
    assert chain.stages[finding.stage].alias == "a" and finding.decision == "D5"


def test_no_class_of_connect_sees_what_the_policy_hides(tmp_path):
    """A mask of Connect on a field that the policy has dropped finds nothing to mask."""
    _, certificate = certified(tmp_path, ("MaskField$Value", {"fields": "who,new", "replacement": "#"}), CAST,
                               show_values=True)  # fmt: skip
    assert certificate.verdict == "equal" and SECRET not in json.dumps(certificate.to_json())


def test_records_that_cannot_be_read_stay(tmp_path):
    _, certificate = certified(tmp_path, CAST, values=(ORDER, b"{", None))
    assert (certificate.records, certificate.refused) == (2, 1)


def test_what_cannot_be_compared_behind_a_policy(tmp_path):
    with pytest.raises(ConfigError, match="SMT971"):
        certified(tmp_path)
    with pytest.raises(UnsupportedError, match="SMT974"):
        certified(tmp_path, CAST, value=Format("avro-confluent", options={"url": "http://127.0.0.1:1"}))
