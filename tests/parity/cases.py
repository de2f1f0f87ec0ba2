"""The recorded cases: Kafka's beside this file, the vendors' packed in ``vendors``."""

from functools import cache
from pathlib import Path

from dagster_smt.tools.parity.datums import parse_cases

HERE = Path(__file__).parent
KAFKAS = sorted(HERE.glob("*.jsonl"))
VENDORS = sorted((HERE / "vendors").glob("*.jsonl.gz"))
FILES = [*KAFKAS, *VENDORS]


@cache
def cases_of(path):
    """The cases of a file."""
    return parse_cases(path.read_bytes())
