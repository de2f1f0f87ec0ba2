"""The demo's folders: topics as shipped, working copies of them, tables, Dagster's home."""

import os
import shutil
import tempfile
from pathlib import Path

import dagster as dg

from dagster_smt import FileTopics, KafkaTopics, NewTopics

SHIPPED = Path(__file__).parent / "topics"
FOLDER_VARIABLE = "SMT_DEMO_FOLDER"
KAFKA_VARIABLE = "SMT_DEMO_KAFKA"
PROJECT = Path(__file__).parents[2]


def demo_folder() -> Path:
    """Where the demo works: ``.demo`` in the project, or what ``SMT_DEMO_FOLDER`` names."""
    return Path(os.environ.get(FOLDER_VARIABLE) or PROJECT / ".demo").absolute()


def on_kafka() -> bool:
    """Whether the topics are a broker's: ``SMT_DEMO_KAFKA`` names it."""
    return bool(os.environ.get(KAFKA_VARIABLE))


def topics() -> FileTopics | KafkaTopics:
    """The topics of the demo: files, or a broker's."""
    if on_kafka():
        return KafkaTopics(dg.EnvVar(KAFKA_VARIABLE), create=NewTopics())
    return FileTopics(working_topics())


def working_topics() -> Path:
    """The topics that the demo reads, copied from the shipped ones on first use: records can be appended to them."""
    folder = demo_folder() / "topics"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(prefix=".topics-", dir=folder.parent))
    shutil.copytree(SHIPPED, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("LICENSE"))
    copy.chmod(0o755)
    try:
        copy.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(copy)
    return folder


def lake(table: str) -> Path:
    """The folder of a table. Topics of files and of a broker have tables of their own."""
    return demo_folder() / ("lake-kafka" if on_kafka() else "lake") / table


def dagster_home(kafka: bool = False) -> Path:
    """The demo's ``DAGSTER_HOME``: the environment's, or a folder beside the tables. Made and configured if new.

    As the tables, so the histories of runs on files and on a broker are apart.
    """
    own = "dagster_home-kafka" if kafka or on_kafka() else "dagster_home"
    home = Path(os.environ.get("DAGSTER_HOME") or demo_folder() / own).absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copy(Path(__file__).parent / "dagster.yaml", home)
    return home
