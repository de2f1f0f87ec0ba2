"""Puts the jar of the JVM lane into wheels, built with ``javac`` against PySpark's own jars.

Without a JDK the wheel has no jar: the package then runs records in Python, and says so once.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface):
    """A build hook of hatch; an editable install builds its jar by ``python -m dagster_smt.jvm.build``."""

    def dependencies(self) -> list[str]:
        """Returns what the jar is compiled against; nothing where the one who installs builds it: ``make setup``."""
        if os.environ.get("DAGSTER_SMT_JAR") == "later":
            return []
        return ["pyspark>=4.0,<4.1"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root)))
        from dagster_smt.jvm import build

        try:
            build.build()
        except build.NoCompilerError as error:
            self.app.display_warning(f"the wheel has no jar of the JVM lane: {error}")
            return
        build_data["artifacts"].append(str(build.JAR.relative_to(self.root)))
