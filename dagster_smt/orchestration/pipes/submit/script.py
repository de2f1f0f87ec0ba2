"""The script that does the work of one run. Pass this file to ``spark-submit``, or copy its two lines into your own
file.
"""

from dagster_smt import run_external

if __name__ == "__main__":
    run_external()
