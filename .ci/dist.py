"""Builds wheel and sdist, installs each into an empty environment, and runs the documented lines for users there.

``make dist`` calls it. The lines are those of docs/chains.md that need no checkout, and the definitions of
docs/asset.md. It ends with an error at the first failure; ``dist`` then holds what was built.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "dagster_smt/version.py").read_text(encoding="utf-8"))[1]  # type: ignore[index]
IN_WHEEL = {"dagster_smt/py.typed", "dagster_smt/jvm/dagster_smt.jar"}
NOT_IN_WHEEL = {f"dagster_smt/tools/{name}.py" for name in ("gallery", "path_spellings", "problem_codes", "reference")}
IN_SDIST = {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/test_project.py"}
LOAD = """
import dagster as dg
import dagster_smt
assert dagster_smt.__version__ == {version!r}, dagster_smt.__version__
assert {root!r} not in dagster_smt.__file__, dagster_smt.__file__
assert all(getattr(dagster_smt, name) for name in dagster_smt.__all__)
from dagster_smt.jvm.build import JAR
assert JAR.is_file(), "the jar of the JVM lane is not in the package"
names = {{}}
exec(open("definitions.py").read(), names)
dg.Definitions.validate_loadable(names["defs"])
"""


def build() -> tuple[Path, Path]:
    """Returns the wheel and the sdist of this folder."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], ROOT)
    wheel = DIST / f"dagster_smt-{VERSION}-py3-none-any.whl"
    sdist = DIST / f"dagster_smt-{VERSION}.tar.gz"
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
    licences = {f"dagster_smt-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")}
    check_names(wheel, (IN_WHEEL | licences) - names)
    check_names(wheel, NOT_IN_WHEEL & names, "also has")
    check_names(wheel, {name for name in names if not name.startswith(("dagster_smt/", "dagster_smt-"))}, "also has")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    check_names(sdist, IN_SDIST - names)
    return wheel, sdist


def check_names(archive: Path, names: set[str], problem: str = "lacks") -> None:
    """Ends with an error if there are any names."""
    if names:
        sys.exit(f"dist: {archive.name} {problem} {', '.join(sorted(names))}")


def run(command: Sequence[str], folder: Path) -> None:
    """Runs a command; ends with an error if the command fails."""
    print("dist:", *command, flush=True)
    environment = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"dist: exit code {done.returncode} of: {' '.join(command)}")


def block(page: str, language: str) -> str:
    """Returns the first block of a language on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    match = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    if match is None:
        sys.exit(f"dist: {page} has no block of {language}")
    return match[1]


def try_package(package: Path) -> None:
    """Installs a package into an empty environment and uses it there, far from this folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", "venv"], folder)
        python = folder / "venv/bin/python"
        constraints = ("-c", str(ROOT / "constraints.txt"))
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "install", "-q", "--no-input", *constraints, f"{package}[all]"], folder)
        run([*pip, "check"], folder)
        use(folder, python)


def use(folder: Path, python: Path) -> None:
    """Runs the documented lines in a folder."""
    (folder / "chain.properties").write_text(block("docs/chains.md", "properties"), encoding="utf-8")
    lines = [line for line in block("docs/chains.md", "sh").splitlines() if "tests/" not in line]
    script = f'set -eux\nPATH="{python.parent}:$PATH"\n' + "\n".join(lines) + "\n"
    run(["bash", "-c", script], folder)
    (folder / "chains").mkdir()
    shutil.copy(folder / "chain.properties", folder / "chains/orders.properties")
    (folder / "definitions.py").write_text(block("docs/asset.md", "python"), encoding="utf-8")
    run([str(python), "-c", LOAD.format(version=VERSION, root=str(ROOT))], folder)


def main() -> None:
    """Builds and tries both packages."""
    for package in build():
        try_package(package)
    print(f"dist: {DIST} holds version {VERSION}; both packages were installed and used")


if __name__ == "__main__":
    main()
