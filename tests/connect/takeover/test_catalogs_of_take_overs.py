"""Take-overs of a table whose catalog is a REST server or a database, with a real worker and Apache's sink."""

from contextlib import ExitStack

import pytest

from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.testing.broker import fetch_from_maven, free_port, java
from tests.connect.takeover.test_kills_of_take_overs import Child, ids_of
from tests.connect.takeover.workers import Worker
from tests.connect.takeover.world import World
from tests.stores import servers

pytestmark = [pytest.mark.spark, pytest.mark.long]
H2 = servers.H2


class InCatalog(World):
    """A world whose table is in another catalog than a folder."""

    options: dict[str, str]

    @property
    def config(self):
        config = {name: value for name, value in super().config.items() if not name.startswith("iceberg.catalog")}
        warehouse = {"iceberg.catalog.warehouse": f"file://{self.lake}"}
        return {**config, **warehouse, **{f"iceberg.catalog.{k}": v for k, v in self.options.items()}}


def rest_catalog(stack, folder):
    """Starts Iceberg's own REST server over a folder."""
    port = free_port()
    properties = [f"uri=jdbc:sqlite:{folder}/rest.db", "jdbc.schema-version=V1", f"warehouse=file://{folder}/lake"]
    jars = f"{servers._rest_jars()}/*:{servers._shipped()}"
    program = [java(), "-cp", jars, str(servers.HERE / "java" / "RestCatalog.java"), str(port), *properties]
    stack.enter_context(servers._running(program, port, folder / "rest.log"))
    return {"type": "rest", "uri": f"http://127.0.0.1:{port}"}


def jdbc_catalog(stack, folder):
    """Starts a database."""
    address = stack.enter_context(servers.h2(folder / "h2"))
    return {"type": "jdbc", "uri": address, "jdbc.user": "smt", "jdbc.password": "x"}


@pytest.mark.parametrize("catalog", [rest_catalog, jdbc_catalog])
def test_a_table_of_another_catalog(broker, tmp_path, catalog):
    name = catalog.__name__
    group, artifact, version = H2.split(":")
    (jar,) = fetch_from_maven(group, (artifact,), version).glob("h2-*.jar")
    with ExitStack() as stack:
        world = InCatalog(tmp_path, broker.servers, name)
        world.options = catalog(stack, tmp_path)
        worker = stack.enter_context(Worker(tmp_path / "worker", broker.servers, name=name, jars=(str(jar),)))
        world.produce(40)
        world.connect(worker)
        world.wait_for_rows(worker, 40)
        conf = {**catalog_conf(world.config), "spark.jars.packages": H2}
        child = Child(world, conf).ready()
        stack.callback(child.kill)

        def done(**order):
            child.order(**order)
            return child.answer(300)

        def command(*words):
            return done(do="main", argv=world.command(*words[:1], worker.url, *words[1:]))

        assert command("shadow") == "DONE 0", child.log.name
        assert command("takeover") == "DONE 0"
        world.produce(10)
        assert done(do="run", folder=str(world.defs / name)) == "DONE committed 10"
        assert command("takeover", "--back") == "DONE 0"
        world.produce(10)
        world.wait_for_rows(worker, 60)
        assert sorted(ids_of(world, name)) == list(range(60))
