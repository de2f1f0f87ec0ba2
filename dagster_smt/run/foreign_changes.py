"""Counts the changes that foreign stages (Java classes from jars) made in the records of a run, by topic and part of
the window. The counts come from the rows that Spark has cached.
"""

import json
from collections import Counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.model.reports.run_report import FieldChanges
from dagster_smt.model.windows.division import Division
from dagster_smt.run.time_parts import PART, with_part
from dagster_smt.spark.outcome_columns import CHANGES
from dagster_smt.spark.records.change_texts import MARK, mark_of

MOST = 20_000
"""The largest number of sets of changes that are counted. A set consists of records with equal changes in the same
topic and the same part of the window. If there are more sets, the sets with the fewest records are ignored.
"""
Changes = dict[tuple[str, int], list[FieldChanges]]


def changes_of(frame: DataFrame, division: Division) -> Changes:
    """Returns the changes that foreign stages (Java classes from jars) made in ``frame``, by topic and part of the
    window. For each changed path, the result has the number of records. If the chain has no foreign stages, the result
    is empty.
    """
    if CHANGES not in frame.columns:
        return {}
    divided, part = with_part(frame.where(F.col(CHANGES) != ""), division)
    texts = divided.groupBy("__topic", part.alias(PART), CHANGES).count().orderBy(F.desc("count")).limit(MOST)
    records: dict[tuple[str, int], Counter[tuple[int, str, str, str]]] = {}
    rows = texts.collect()
    by_mark = {}
    for row in rows:
        # only the first record of a batch has the text of its changes; later records with the same text have its marker
        if not row[2].startswith(MARK):
            by_mark[mark_of(row[2])] = row[2]
    for topic, number, text, count in rows:
        text = by_mark.get(text, text)
        if text.startswith(MARK):
            continue  # the changes in this set are not known, because its string has been left out
        counter = records.setdefault((topic, number), Counter())
        for line in set(text.split("\n")):
            stage, action, side, path = json.loads(line)
            counter[stage, action, side, path] += count
    changes: Changes = {}
    for place, counter in records.items():
        of_place = []
        for change, number in sorted(counter.items()):
            of_place.append(FieldChanges(*change, number))
        changes[place] = of_place
    return changes
