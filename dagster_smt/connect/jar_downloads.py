"""The addresses from which users can download the jars of transforms that this package does not contain."""

import json
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "catalogs" / "transforms.json"
_PACKAGED = "the project that built it, or the worker's plugin.path"


@cache
def _places() -> dict[str, str]:
    places: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))
    return places


def jar_of(class_name: str) -> str:
    """Returns the download address of the jar with the transform class ``class_name``. For an unknown class, returns a
    phrase that says where the jar may be.
    """
    for prefix, place in _places().items():
        if class_name.startswith(prefix):
            return place
    return _PACKAGED
