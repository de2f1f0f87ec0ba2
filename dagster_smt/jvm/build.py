"""Builds the jar of the JVM lane (this package's Java code) with ``javac``. The compiler needs the jars of the
installed PySpark.

``python -m dagster_smt.jvm.build`` is part of ``make setup``. A wheel contains the jar.
"""

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent / "java"
CONNECT_API = Path(__file__).parent / "connect_api"
"""The folder with stubs of Kafka Connect's API. Only the compiler needs them; at run time, the real classes are used.
"""
DELTA_API = Path(__file__).parent / "delta_api"
"""The folder with stubs of Delta's log store. Only the compiler needs them; at run time, the real classes are used."""
JAR = Path(__file__).parent / "dagster_smt.jar"
_RELEASE = "11"
"""The version of Java for which the jar is built: the oldest version that Spark 3.5 supports."""
_NEEDED = (
    "spark-catalyst_",
    "spark-core_",
    "spark-sql_",
    "spark-sql-api_",
    "spark-common-utils_",
    "spark-common-utils-java_",  # in Spark 4.1, the functions of Java's API have a jar of their own
    "spark-unsafe_",
    "hadoop-client-api-",
    "scala-library-",
    "jackson-",
    "kryo-",
)
"""The beginnings of the names of PySpark's jars that the compiler needs for the Java sources."""


class NoCompilerError(Exception):
    """Raised if the JDK or PySpark is missing, or if the compiler rejects the sources."""


def version() -> str:
    """Returns a hash of the Java sources. The hash identifies the version of the sources."""
    content = hashlib.sha256()
    for file in _files():
        # the separator keeps a name apart from the content after it
        content.update(file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()[:16]


def is_current(jar: Path = JAR) -> bool:
    """Returns True if ``jar`` exists and has been built from the current sources."""
    try:
        with zipfile.ZipFile(jar) as opened:
            return opened.read("dagstersmt/version").decode() == version()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def build(jar: Path = JAR) -> Path:
    """Builds the jar ``jar`` unless it is up to date, and returns its path.

    Raises:
        NoCompilerError: ``javac`` or PySpark is missing, or ``javac`` rejects the sources.
    """
    if is_current(jar):
        return jar
    compiler = shutil.which("javac")
    if compiler is None:
        raise NoCompilerError("javac is not on PATH: install a JDK 17 or 21")
    with tempfile.TemporaryDirectory() as folder:
        classes = Path(folder) / "classes"
        # Warnings are errors, except about the class path, which holds jars of Spark, and about their class files.
        options = ["--release", _RELEASE, "-Xlint:all,-path,-classfile", "-Werror", "-proc:none", "-encoding", "UTF-8"]
        paths = ["-d", str(classes), "-cp", class_path(), "-sourcepath", f"{CONNECT_API}:{DELTA_API}", "-implicit:none"]
        command = [compiler, *options, *paths, *map(str, _files())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NoCompilerError(f"javac refuses the sources:\n{done.stderr}{done.stdout}")
        (classes / "dagstersmt" / "version").write_text(version())
        new = Path(folder) / jar.name
        _pack(classes, new)
        jar.parent.mkdir(parents=True, exist_ok=True)
        # renaming a copy is atomic, so other processes see either the old jar or the new jar, never a part of it
        beside = jar.with_suffix(".new")
        shutil.copyfile(new, beside)
        beside.replace(jar)
    return jar


def _files() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def class_path() -> str:
    """Returns the class path that the compiler needs. It consists of jars of the installed PySpark."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise NoCompilerError("PySpark is not installed")
    folder = Path(next(iter(spec.submodule_search_locations))) / "jars"
    jars = []
    for jar in sorted(folder.glob("*.jar")):
        if jar.name.startswith(_NEEDED):
            jars.append(jar)
    return ":".join(map(str, jars))


def _pack(classes: Path, jar: Path) -> None:
    """Packs the compiled classes in ``classes`` into ``jar``. The same classes always result in the same bytes."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(classes.rglob("*")):
            if file.is_file():
                # a fixed date, because a zip stores the times of its files
                entry = zipfile.ZipInfo(str(file.relative_to(classes)), (2020, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, file.read_bytes())


if __name__ == "__main__":
    try:
        build()
    except NoCompilerError as error:
        raise SystemExit(f"the JVM lane was not built, records take the slower way through Python: {error}") from None
