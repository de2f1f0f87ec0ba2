"""Names datasets as OpenLineage's specification requires. The name of a dataset consists of a namespace and a name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_STORE = re.compile(r"(s3|s3a|s3n|gs|abfs|abfss|wasb|wasbs|hdfs|dbfs)://([^/]+)/?(.*)")


@dataclass(frozen=True, slots=True)
class DatasetName:
    """The name of a dataset, which consists of a namespace and a name. Examples are ``kafka://host:9092`` with
    ``orders``, and ``s3://bucket`` with ``lake/orders``.
    """

    namespace: str
    name: str


def topic_dataset(servers: str, topic: str) -> DatasetName:
    """Returns the dataset name of ``topic`` in a Kafka cluster. The first server in ``servers`` identifies the
    cluster.
    """
    return DatasetName(f"kafka://{servers.split(',')[0].strip()}", topic)


def path_dataset(path: str) -> DatasetName:
    """Returns the dataset name of ``path``, which is in a bucket or in a file system of this machine."""
    match = _STORE.fullmatch(str(path))
    if match is not None:
        # s3a and s3n are Hadoop's names for its clients; OpenLineage calls all such buckets s3
        scheme = "s3" if match[1] in ("s3a", "s3n") else match[1]
        # the root of a bucket is "/"
        return DatasetName(f"{scheme}://{match[2]}", match[3].rstrip("/") or "/")
    # Java writes local paths as file:/lake, and URIs as file:///lake
    plain = str(path).removeprefix("file://") if str(path).startswith("file://") else str(path).removeprefix("file:")
    return DatasetName("file", Path(plain).absolute().as_posix())


def table_dataset(name: str, catalogs: Mapping[str, str]) -> DatasetName:
    """Returns the dataset name of a table in one of Spark's catalogs.

    Args:
        name: The name in Spark: ``lake.db.orders``.
        catalogs: The namespaces of catalogs, such as ``{"lake": "arn:aws:glue:eu-central-1:123456789012"}``. Without an
            entry, the catalog's name in Spark is the namespace.
    """
    catalog, dot, rest = name.partition(".")
    if not dot or rest.count(".") == 0:  # spark_catalog: db.orders
        return DatasetName(catalogs.get("spark_catalog", "spark_catalog"), name)
    return DatasetName(catalogs.get(catalog, catalog), rest)
