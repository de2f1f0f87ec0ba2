"""Runs a chain on a user's records, once in Kafka Connect's own classes and once in this package, and compares the
results. The outcome is a certificate.

| module | contents |
|---|---|
| ``chain_pair`` | the two chains: ours, and the same stages in the classes of Connect and of vendors |
| ``reading`` | reads the sample records for both chains |
| ``stepwise`` | the results of a chain after each stage |
| ``compared_ways`` | the execution paths ("ways": Python, Spark) that a certificate compares with Connect |
| ``spark_ways`` | the execution paths that need a Spark session |
| ``column_types`` | compares the types of Spark's columns with the schemas of Connect's results |
| ``difference_places`` | the first location in which two results differ, without values |
| ``certificate`` | the findings, the verdict and the JSON |
| ``reading_check`` | the records that only Connect's converters or only our converters can read |
| ``judging`` | the verdict on each record after each stage: equal, different, or an intended difference |
| ``after_policy`` | runs the stages of a privacy policy before the comparison |
| ``certify_chain`` | ``certify``: runs both chains and compares their results |

``cli/certificate_text.py`` and ``cli/certificate_page.py`` write a certificate as Markdown and as HTML.
"""

from dagster_smt.certify.certificate import Certificate as Certificate
from dagster_smt.certify.certify_chain import certify as certify
from dagster_smt.certify.certify_chain import check_same_stages as check_same_stages
