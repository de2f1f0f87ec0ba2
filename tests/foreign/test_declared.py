"""Foreign stages where chains are declared: in YAML, in a connector, on the command line."""

import json
import zipfile

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt import SmtChainComponent
from dagster_smt.cli import main
from dagster_smt.connect import written_component
from dagster_smt.errors import ConfigError
from dagster_smt.foreign.jars import plugins_of

STAGES = [{"alias": "up", "type": "acme.Upper", "options": {"option": "name"}}]
PROPERTIES = {"transforms": "up", "transforms.up.type": "acme.Upper", "transforms.up.option": "name"}


def loaded(attributes):
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "dagster_smt.SmtChainComponent", "attributes": attributes}
        sandbox.scaffold_component(component_cls=SmtChainComponent, defs_path="orders", defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(defs_path="orders") as (component, defs):
            return component, defs


@pytest.mark.parametrize("chain", [STAGES, PROPERTIES], ids=["stages", "properties"])
def test_a_component_names_jars(jar, chain):
    attributes = {
        "asset_key": "lake/orders",
        "chain": chain,
        "smt_jars": [str(jar)],
        "table": {"source": {"files": "topics"}, "topics": ["orders"]},
        "sink": {"delta": {"path": "lake/orders", "kind": "records"}},
    }
    component, defs = loaded(attributes)
    assert list(component.smt_jars) == [str(jar)]
    assert any(dg.AssetKey(["lake", "orders"]) in asset.keys for asset in defs.assets if hasattr(asset, "keys"))
    with pytest.raises(Exception, match="Error while building") as caught:
        loaded({name: value for name, value in attributes.items() if name != "smt_jars"})
    assert isinstance(caught.value.__cause__, ConfigError) and "acme.Upper" in str(caught.value.__cause__)


def test_a_connector_keeps_its_class(jar, tmp_path, capsys):
    config = {"name": "sink", "config": {"connector.class": "x.Sink", "topics": "orders", **PROPERTIES}}
    file = tmp_path / "sink.json"
    file.write_text(json.dumps(config))
    (connector,) = connectors(file)
    without = written_component(connector, {"files": "topics"})
    assert [stage.verdict for stage in without.stages] == ["not supported"] and "smt_jars" in without.stages[0].text
    written = written_component(connector, {"files": "topics"}, smt_jars=[str(jar)])
    assert [(stage.verdict, stage.text) for stage in written.stages] == [("exact", "runs from its jar")]
    assert yaml.safe_load(written.yaml)["attributes"]["smt_jars"] == [str(jar)]
    main(["import", str(file), "--to", str(tmp_path / "defs"), "--sample", "0", "--smt-jars", str(jar)])
    assert "runs from its jar" in capsys.readouterr().out
    assert "acme.Upper" in (tmp_path / "defs" / "sink" / "chain.properties").read_text()


def connectors(file):
    from dagster_smt.connect import connectors_at

    return connectors_at(str(file))


def test_the_command_line_checks_options(jar, tmp_path, capsys):
    file = tmp_path / "chain.yaml"
    file.write_text(yaml.safe_dump({"stages": [{"alias": "s", "type": "acme.Strict", "options": {"number": 12}}]}))
    assert main(["lint", str(file), "--smt-jars", str(jar)]) == 1
    shown = capsys.readouterr().out
    assert "SMT012" in shown and "SMT013" in shown
    file.write_text(yaml.safe_dump({"smt_jars": [jar.name], "stages": STAGES}))
    assert main(["lint", str(file)]) == 1
    (tmp_path / jar.name).symlink_to(jar)
    assert main(["lint", str(file)]) == 0
    values = tmp_path / "values.jsonl"
    values.write_text('{"name":"ada"}\n')
    assert main(["preview", str(file), str(values)]) == 0
    assert "ADA" in capsys.readouterr().out
    assert main(["explain", str(file)]) == 0


def test_folders_are_plugin_paths(jar, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / "plugins" / folder).mkdir(parents=True)
        (tmp_path / "plugins" / folder / "a.jar").symlink_to(jar)
    (tmp_path / "plugins" / "b.jar").symlink_to(jar)
    plugins = plugins_of([str(tmp_path / "plugins"), "acme:nothing:1.0"])
    assert [len(plugin.jars) for plugin in plugins] == [1, 1, 1, 0]
    assert plugins[0].has("acme.Upper") and not plugins[0].has("acme.Nothing")
    (tmp_path / "text.jar").write_text("no jar")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError) as caught:
        plugins_of([str(tmp_path / name) for name in ("text.jar", "empty", "none")])
    assert [problem.code for problem in caught.value.problems] == ["SMT027"] * 3


def test_each_plugin_has_its_own_classes(jar, tmp_path):
    """Two plug-ins have a class of one name: each uses its own, whatever the host has."""
    from tests.foreign.jar import SOURCES, chain_of, compiled, ran

    sources = tmp_path / "sources" / "acme"
    sources.mkdir(parents=True)
    for name in ("Base", "Same"):
        (sources / f"{name}.java").write_text((SOURCES / "acme" / f"{name}.java").read_text())
    other = (sources / "Same.java").read_text().replace("return record;", "return null;").replace("Same", "Other")
    (sources / "Other.java").write_text(other)
    # another Base that the first plug-in does not have
    second = compiled(tmp_path, tmp_path / "sources", "second.jar")
    with zipfile.ZipFile(second) as archive:
        assert "acme/Base.class" in archive.namelist()
    from dagster_smt.chain import parse_chain

    stages = [{"type": "acme.Upper", "options": {"option": "n"}}, {"type": "acme.Other"}]
    chain = parse_chain({"stages": stages}, smt_jars=[jar, second])
    ((lost, *_),) = ran(chain, [b'{"n":"a"}'])
    assert lost.stage == 1 and chain_of(jar, "Same").has_foreign


@pytest.mark.long
def test_the_page_declares_what_loads(tmp_path, monkeypatch):
    """The examples of docs/how-to/run-any-transform.md."""
    import re
    from pathlib import Path

    from dagster_smt.orchestration import build_smt_asset
    from tests.foreign.jar import missing_vendor

    page = (Path(__file__).parents[2] / "docs/how-to/run-any-transform.md").read_text(encoding="utf-8")
    if reason := missing_vendor("iceberg"):
        pytest.skip(reason)
    names: dict = {}
    (text,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(text, "run-any-transform.md", "exec"), names)
    assert dg.AssetKey("orders") in build_smt_asset(names["orders"]).keys
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert yaml.safe_load(text)["attributes"]["smt_jars"] == ["plugins"]
    from dagster_smt.authoring.foreign_settings import ForeignSettings, settings_of

    written = dict(re.findall(r"\| `([a-z.]+)` \| `(\w[\w.]*)` \|", page))
    settings, problems = settings_of(written)
    assert not problems and settings == ForeignSettings() and len(written) == 6
