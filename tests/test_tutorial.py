"""The lines that newcomers type: of the tutorial, the README and the page about chains, run in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dagster_smt.cli import argument_parser
from dagster_smt.errors import UnsupportedError

ROOT = Path(__file__).parents[1]
BLOCKS = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)
_INSTALLS = ("python3 -m venv", "pip install", "dg dev")
"""Lines that a test leaves out: this environment is installed, and nobody ends the UI."""
_DEFINITIONS = """from pathlib import Path
import dagster as dg
@dg.definitions
def defs():
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


def make_project(folder, name):
    """What ``create-dagster project`` makes, as far as it matters here: the tool is not among what tests need."""
    root = folder / name
    package = root / "src" / name
    (package / "defs").mkdir(parents=True)
    for init in (package / "__init__.py", package / "defs" / "__init__.py"):
        init.touch()
    (package / "definitions.py").write_text(_DEFINITIONS)
    (root / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "0"\n[tool.dg]\ndirectory_type = "project"\n'
        f'[tool.dg.project]\nroot_module = "{name}"\ncode_location_target_module = "{name}.definitions"\n'
    )


def script(commands):
    """The lines to run; a project is there where the next line looks for it."""
    lines = [line for line in commands.split("\n") if not line.startswith(_INSTALLS)]
    return "\n".join(re.sub(r"^create-dagster project (\w+) --no-uv-sync", ":", line) for line in lines)


class Shell:
    """One shell for all blocks of a page: directories and variables stay."""

    def __init__(self, folder, project):
        self.folder, self.state = folder, folder / ".state"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        sources = str(folder / project / "src")
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": sources, "SPARK_LOCAL_IP": "127.0.0.1"}
        self.environment |= {"PYSPARK_PYTHON": sys.executable, "DAGSTER_DG_CLI_DISABLE_TELEMETRY": "1"}
        self.environment.pop("DAGSTER_HOME", None)
        self.state.write_text(f"cd '{folder}'\n")

    def run(self, commands):
        """Run a block; returns what it printed."""
        keep = f"{{ export -p; echo cd \"'$PWD'\"; }} > '{self.state}'"
        text = f"set -e\n. '{self.state}'\n{script(commands)}\n{keep}\n"
        done = subprocess.run(["bash", "-c", text], env=self.environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def check_shown(shown, printed):
    """Each line that a page shows was printed, in this order."""
    rest = iter(printed.split("\n"))
    for line in shown.strip("\n").split("\n"):
        assert any(line.rstrip() == other.rstrip() for other in rest), f"{line!r} is not in\n{printed}"


@pytest.fixture
def folder(tmp_path):
    from dagster_smt.testing.broker import fetch_jars

    try:
        fetch_jars()
    except UnsupportedError as error:
        pytest.skip(f"no Kafka: {error}")
    yield tmp_path
    subprocess.run([sys.executable, "-m", "dagster_smt.testing", "--stop"], cwd=tmp_path, check=False)


def part(page, begin, end):
    """The blocks of a part of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return BLOCKS.findall(text[text.index(begin) : text.index(end)])


def follow(shell, blocks, servers=""):
    """Run blocks, and look for what the page shows of them; returns what was printed last."""
    printed = ""
    for language, block in blocks:
        if language == "sh":
            printed = shell.run(block.replace("localhost:9092", servers) if servers else block)
        else:
            check_shown(block, printed)
    return printed


@pytest.mark.long
def test_the_lines_of_the_tutorial_run(folder):
    make_project(folder, "shop")
    follow(Shell(folder, "shop"), part("docs/tutorial.md", "# From", "## From here"))


@pytest.mark.long
def test_the_lines_of_the_readmes_own_project_run(folder):
    make_project(folder, "lake")
    shell = Shell(folder, "lake")
    follow(shell, part("docs/tutorial.md", "## 1. A", "## 2. "))  # a connector, and a topic with records
    servers = (folder / ".kafka" / "servers").read_text().strip()
    follow(shell, part("README.md", "## In a project of your own", "## Is it the same"), servers)


def test_the_commands_of_the_page_about_chains_run(tmp_path):
    text = (ROOT / "docs/chains.md").read_text(encoding="utf-8")
    (tmp_path / "chain.properties").write_text(re.search(r"```properties\n(.*?)```", text, re.DOTALL)[1])
    (tmp_path / "tests/parity").mkdir(parents=True)
    (tmp_path / "tests/parity/cast.jsonl").symlink_to(ROOT / "tests/parity/cast.jsonl")
    make_project(tmp_path, "none")
    printed = follow(
        Shell(tmp_path, "none"),
        part("docs/chains.md", "Save the first example of this page as", "`dagster-smt import` reads connectors"),
    )
    assert "MaskField" in printed


def test_every_command_of_a_page_is_one():
    """Subcommands and switches, on all pages; what their values name need not be there."""
    wrong = []
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        blocks = [block for language, block in BLOCKS.findall(page.read_text(encoding="utf-8")) if language == "sh"]
        commands = [line for block in blocks for line in block.split("\n") if "dagster-smt " in line]
        for line in commands:
            words = shlex.split(re.sub(r"\$\([^)]*\)", "x", line), comments=True)
            own = words[next(n for n, word in enumerate(words) if word.endswith("dagster-smt")) + 1 :]
            try:
                argument_parser().parse_args(own)
            except SystemExit:
                wrong.append(line)
    assert wrong == []
