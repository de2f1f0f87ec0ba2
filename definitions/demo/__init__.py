"""Locates the demo's folders: the shipped topics, the working copies of the topics, the tables, and Dagster's home."""

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
    """Returns the demo's folder, which is ``SMT_DEMO_FOLDER``, or by default ``.demo`` in the project."""
    return Path(os.environ.get(FOLDER_VARIABLE) or PROJECT / ".demo").absolute()


def on_kafka() -> bool:
    """Returns True if the topics are on the broker that ``SMT_DEMO_KAFKA`` names."""
    return bool(os.environ.get(KAFKA_VARIABLE))


def topics() -> FileTopics | KafkaTopics:
    """Returns the topics of the demo, which are either files or topics of a broker."""
    if on_kafka():
        return KafkaTopics(dg.EnvVar(KAFKA_VARIABLE), create=NewTopics())
    return FileTopics(working_topics())


def working_topics() -> Path:
    """Returns the folder of the demo's topics. On first use, the function copies the shipped topics to this folder,
    because the demo appends to its topics.
    """
    folder = demo_folder() / "topics"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(prefix=".topics-", dir=folder.parent))
    shutil.copytree(SHIPPED, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("LICENSE"))
    # mkdtemp creates a folder that only this user can read
    copy.chmod(0o755)
    try:
        copy.rename(folder)
    except OSError:  # another process has copied the topics first
        shutil.rmtree(copy)
    return folder


def lake(table: str) -> Path:
    """Returns the folder of ``table``. File topics and topics of a broker have separate tables."""
    return demo_folder() / ("lake-kafka" if on_kafka() else "lake") / table


def dagster_home(kafka: bool = False) -> Path:
    """Returns the demo's ``DAGSTER_HOME``: the folder in the environment variable, or a folder next to the tables if
    the variable is not set.

    If the folder does not exist, it is created and configured. Runs on files and runs on a broker use different
    folders, because they also write different tables.
    """
    own = "dagster_home-kafka" if kafka or on_kafka() else "dagster_home"
    home = Path(os.environ.get("DAGSTER_HOME") or demo_folder() / own).absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copy(Path(__file__).parent / "dagster.yaml", home)
    return home
