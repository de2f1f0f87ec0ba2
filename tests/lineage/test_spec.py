"""Our events against the JSON schemas of OpenLineage: ``OPENLINEAGE_SPEC`` names the folder ``spec`` of its code.

The schemas are not a part of this project.
"""

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from dagster_smt.lineage.open_lineage import Emitter, OpenLineage
from tests.lineage.test_open_lineage import RUN, WRITTEN

SPEC = os.environ.get("OPENLINEAGE_SPEC", "")
pytestmark = [pytest.mark.long, pytest.mark.skipif(not SPEC, reason="OPENLINEAGE_SPEC names no folder")]


def schemas():
    files = [Path(SPEC, "OpenLineage.json"), *sorted(Path(SPEC, "facets").glob("*.json"))]
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in files}


def errors_of(event):
    """Returns what the schemas of the event and of its facets refuse, and how many facets there are."""
    known = schemas()
    registry = Registry().with_resources((one["$id"], Resource.from_contents(one)) for one in known.values())
    checked = [(known["OpenLineage.json"], event)]
    holders = [event["run"], event["job"], *event.get("inputs", ()), *event.get("outputs", ())]
    for holder in holders:
        for part in ("facets", "inputFacets", "outputFacets"):
            for facet in holder.get(part, {}).values():
                file, _, pointer = facet["_schemaURL"].rpartition("/spec/")[2].partition("#")
                schema = known[file.rpartition("/")[2]]
                checked.append(({"$ref": f"{schema['$id']}#{pointer}"}, facet))
    problems = []
    for schema, data in checked:
        validator = Draft202012Validator(schema, registry=registry, format_checker=FormatChecker())
        problems += [error.message for error in validator.iter_errors(data)]
    return problems, len(checked) - 1


@pytest.fixture
def sent(tmp_path):
    file = tmp_path / "events.jsonl"
    emitter = Emitter(OpenLineage(file=str(file)), RUN)
    emitter.start()
    emitter.complete(WRITTEN)
    emitter.fail(["SMT530"])
    return list(map(json.loads, file.read_text(encoding="utf-8").splitlines()))


def test_events_fit_the_schemas(sent):
    assert len(sent) == 4
    for event in sent:
        problems, facets = errors_of(event)
        assert problems == [] and facets >= 2


def test_the_schemas_refuse_a_wrong_event(sent):
    event = sent[1]
    del event["job"]["name"]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    del fields["who"]["inputFields"][0]["field"]
    assert len(errors_of(event)[0]) == 2
