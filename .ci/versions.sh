#!/bin/sh
# Run a core of the tests on the oldest and the newest version of Spark, side by side: `make test-versions`.
# With the argument `environments`, only make the environments; what fails there is said by the next call without it.
# Their environments, .venv/spark-3.5 and .venv/spark-4.1, hold PySpark alone and take all other packages from .venv. So
# they are ready minutes before those of `make setup SPARK=3.5`, which are whole environments for any other target.
set -eu
cd "$(dirname "$0")/.."

# The jar compiled against this version, recorded cases of Kafka Connect, the JVM lane, runs into Delta and Iceberg, keys, and
# what bridges the versions
core='
  tests/jvm/test_build.py
  tests/spark/test_versions.py
  tests/spark/test_parity_on_spark.py
  tests/spark/test_every_type.py::test_the_plan_of_many_stages_grows_with_their_number
  tests/spark/test_jvm_records.py::test_the_lane_is_a_function_in_the_generated_code
  tests/spark/test_jvm_records.py::test_what_is_left_goes_through_python[json]
  tests/spark/test_jvm_columns.py::test_the_rows_are_those_of_python
  tests/tables/sinks/test_conformance.py::test_commits_follow_each_other[delta]
  tests/tables/sinks/test_conformance.py::test_commits_follow_each_other[iceberg]
  tests/run/test_batch.py::test_batches
  tests/run/test_batch.py::test_an_explicit_window_replaces_exactly_its_rows
  tests/run/test_keyed.py::test_the_last_event_of_a_key_is_its_row[delta]
  tests/run/test_keyed.py::test_the_last_event_of_a_key_is_its_row[iceberg]
'

fail() {
  printf 'test-versions: %s\n' "$*" >&2
  exit 1
}

# Spark 3.5 runs neither on Python 3.12 nor on Java 21.
refusal() { # of one version, empty if it runs here
  case $1 in 3.*) ;; *) return ;; esac
  .venv/bin/python -c 'import sys; sys.exit(sys.version_info[:2] > (3, 11))' || echo "needs a Python before 3.12"
  java=${JAVA_HOME:+$JAVA_HOME/bin/}java
  "$java" -version 2>&1 | grep -q -E ' version "(11|17)\.' || echo "needs Java 11 or 17"
}

make_environment() { # of one version, below .venv
  version=$1 home=.venv/spark-$1 pins=constraints-$1.txt
  stamp="$(cat .venv/setup.stamp) $(cksum "$pins")"
  [ "$(cat "$home/stamp" 2>/dev/null)" = "$stamp" ] && return
  .venv/bin/python -m venv --clear --without-pip "$home"
  site=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  shared=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf 'import site; site.addsitedir(%s)\n' "\"$shared\"" >"$site/shared.pth" # after the PySpark of this environment
  .venv/bin/python -m pip --disable-pip-version-check --python "$home/bin/python" install --no-input --no-deps \
    -q -r "$pins" >"$home/setup.log" 2>&1 || fail "pip could not install PySpark $version (details: $home/setup.log)."
  "$home/bin/python" -m dagster_smt.spark.packages >>"$home/setup.log" 2>&1 ||
    fail "Spark $version could not fetch its packages (details: $home/setup.log)."
  printf '%s\n' "$stamp" >"$home/stamp"
}

run_core() { # of one version
  python=$(pwd)/.venv/spark-$1/bin/python
  export PYSPARK_PYTHON="$python" PYSPARK_DRIVER_PYTHON="$python" VIRTUAL_ENV="$(pwd)/.venv/spark-$1"
  make_environment "$1"
  set -f # the brackets are names of cases
  # shellcheck disable=SC2086
  "$python" -m pytest -q -p no:cacheprovider $core
}

jobs=
for pins in constraints-*.txt; do
  version=${pins#constraints-} version=${version%.txt}
  reason=$(refusal "$version")
  if [ "${1:-}" = environments ]; then
    [ -n "$reason" ] || make_environment "$version" >/dev/null 2>&1 &
    continue
  fi
  if [ -n "$reason" ]; then
    echo "Spark $version: not run, it $reason"
    continue
  fi
  run_core "$version" >".venv/core-$version.log" 2>&1 &
  jobs="$jobs $version:$!"
done
if [ "${1:-}" = environments ]; then
  wait
  exit
fi
failed=
for job in $jobs; do
  version=${job%:*}
  wait "${job#*:}" || failed="$failed $version"
  echo "Spark $version: $(tail -n 1 ".venv/core-$version.log")"
done
for version in $failed; do
  cat ".venv/core-$version.log"
done
[ -z "$failed" ] || fail "these versions of Spark fail:$failed."
