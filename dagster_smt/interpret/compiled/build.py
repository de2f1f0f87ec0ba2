"""``python -m dagster_smt.interpret.compiled.build``: compile all code, and keep it."""

from dagster_smt.interpret.compiled.kept import finish
from dagster_smt.interpret.compiled.lane import warm

if __name__ == "__main__":
    warm()
    finish()
