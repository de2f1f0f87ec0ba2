"""The pages of managed platforms, with the real clients: the services are played, the drivers are real processes.

The clients come into an environment of their own, which takes all other packages from the one of the tests.
"""

import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.platforms.trip import PAGES

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an environment with Dagster's clients of the platforms."""
    folder = tmp_path_factory.mktemp("platforms")
    venv.create(folder, with_pip=False)
    result = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([result, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    shared = sysconfig.get_path("purelib")
    Path(own, "shared.pth").write_text(f'import site; site.addsitedir("{shared}")\n')
    of_dagster = version("dagster-pyspark")  # the integrations have one version
    packages = [f"dagster-{name}=={of_dagster}" for name in ("databricks", "aws", "gcp", "k8s")]
    pip = [sys.executable, "-m", "pip", "--python", result, "install", "-q", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, *packages, "google-cloud-dataproc"], check=True, capture_output=True)
    return result


@pytest.mark.parametrize("page", PAGES)
def test_a_run_commits_as_the_page_says(python, page, tmp_path):
    command = [python, "-m", "tests.platforms.trip", page, tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == PAGES[page]
