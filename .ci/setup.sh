#!/bin/sh
# Make .venv ready for every other target: Java checked, environment created, pinned packages installed.
# With SPARK=3.5, for example, make .venv-3.5 instead, with the pins of constraints-3.5.txt in place of those of constraints.txt.
# Says one sentence and stops where something is missing. A second call finds the stamp and is done.
set -eu
cd "$(dirname "$0")/.."

spark=${SPARK:-4.0}
venv=.venv log=setup.log overlay=
if [ "$spark" != 4.0 ]; then
  venv=.venv-$spark log=setup-$spark.log overlay=constraints-$spark.txt
fi
stamp=$venv/setup.stamp
pins=$venv/constraints.txt

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

if [ -n "$overlay" ] && [ ! -f "$overlay" ]; then
  fail "there are no pins for Spark $spark: use one of 4.0$(printf ' %s' constraints-*.txt | sed 's/constraints-//g; s/\.txt//g')."
fi
case $spark in 3.*) java_a=11 java_b=17 newest=11 ;; *) java_a=17 java_b=21 newest=13 ;; esac

# Spark starts "$JAVA_HOME/bin/java" if JAVA_HOME is set, else the java on PATH: look at the same one.
check_java() {
  want="Spark needs Java $java_a or $java_b: install one (for example Eclipse Temurin 17)"
  if [ -n "${JAVA_HOME:-}" ]; then
    java=$JAVA_HOME/bin/java where="JAVA_HOME ($JAVA_HOME)" remedy="and point JAVA_HOME to it, or unset JAVA_HOME."
    [ -x "$java" ] || fail "$want $remedy There is no Java in $where."
  else
    java=java where="PATH" remedy="and put its java on PATH or point JAVA_HOME to it."
    command -v java >/dev/null 2>&1 || fail "$want $remedy There is no java on $where."
  fi
  # macOS has a java on PATH that only says that there is none.
  text=$("$java" -version 2>&1 </dev/null) || fail "$want $remedy The one in $where does not start."
  version=$(printf '%s\n' "$text" | sed -n 's/.* version "\([0-9][0-9._]*\).*/\1/p' | sed -n 1p)
  case $version in
    1.*) major=${version#1.} ;;
    *) major=$version ;;
  esac
  case ${major%%[._]*} in
    "$java_a" | "$java_b") ;;
    *) fail "$want $remedy The one in $where is ${version:-of an unknown version}." ;;
  esac
}

fits() { # Is this a Python from 3.10 to 3.$newest, with what a virtual environment takes?
  "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, int(sys.argv[1])))' "$newest" >/dev/null 2>&1 </dev/null || return 1
  found_version=yes
  "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 </dev/null
}

# Every entry of PATH, not only the first of a name: version managers put names there that do not start.
find_python() {
  found_version=no
  if [ -n "${PYTHON:-}" ]; then
    fits "$PYTHON" && python=$PYTHON && return
    [ $found_version = yes ] && fail "PYTHON ($PYTHON) has no venv module: install it (on Debian: python3-venv)."
    fail "PYTHON ($PYTHON) is not a Python from 3.10 to 3.$newest."
  fi
  old_ifs=$IFS
  for name in python3 python3.13 python3.12 python3.11 python3.10; do
    IFS=:
    for dir in $PATH; do
      IFS=$old_ifs
      [ -x "$dir/$name" ] && fits "$dir/$name" && python=$dir/$name && return
    done
    IFS=$old_ifs
  done
  [ $found_version = yes ] && fail "Python has no venv module: install it (on Debian and Ubuntu: apt install python3-venv)."
  fail "Python 3.10 to 3.$newest is needed and none is on PATH: install one, or name it with PYTHON=/path/to/python3."
}

write_pins() { # the overlay's pins, and those of other packages
  if [ -n "$overlay" ]; then
    names=$(sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' "$overlay" | paste -s -d '|' -)
    { grep -v -E "^($names)==" constraints.txt; cat "$overlay"; } >"$pins"
  else
    cp constraints.txt "$pins"
  fi
}

pip_install() {
  "$venv/bin/python" -m pip --disable-pip-version-check install --no-input -c "$pins" "$@" >>$log 2>&1 </dev/null && return
  if grep -q -i -E 'connection|name resolution|unreachable|timed out|proxy|ssl' $log; then
    fail "pip could not reach the package index: connect to a network, or name a mirror with PIP_INDEX_URL (details: $log)."
  fi
  fail "pip could not install the packages (details: $log)."
}

jar_facts() { # the sources and the jar itself: all environments share one jar, and another one may have built it since
  cat dagster_smt/jvm/java/*/*.java dagster_smt/jvm/java/*/*/*.java dagster_smt/jvm/build.py | cksum
  cat dagster_smt/jvm/dagster_smt.jar 2>/dev/null | cksum
}

# The Java part of the package; without it everything works, and records take several times as long.
build_jar() {
  [ "$(cat $venv/jar.stamp 2>/dev/null)" = "$(jar_facts)" ] && return
  echo "setup: compiling the JVM lane"
  if "$venv/bin/python" -m dagster_smt.jvm.build >>$log 2>&1; then
    jar_facts >$venv/jar.stamp
  else
    echo "setup: the JVM lane was not built: install a JDK (javac) and call this again (details: $log)"
  fi
}

check_java
wanted="$(pwd) $(cat pyproject.toml constraints.txt $overlay .ci/setup.sh dagster_smt/spark/packages.py | cksum)"
if [ -x $venv/bin/python ] && [ "$(cat $stamp 2>/dev/null)" = "$wanted" ]; then
  build_jar
  exit 0
fi
: >$log
# An environment that was moved, half made or made by a Python that is gone is made again.
case $(cat $stamp 2>/dev/null || echo "$(pwd) none") in "$(pwd) "*) moved=no ;; *) moved=yes ;; esac
if [ $moved = yes ] || ! fits $venv/bin/python || ! $venv/bin/python -m pip --version >>$log 2>&1; then
  find_python
  echo "setup: creating $venv with $("$python" --version)"
  "$python" -m venv --clear $venv >>$log 2>&1 || fail "the virtual environment could not be created (details: $log)."
fi
write_pins
echo "setup: installing the packages of constraints.txt${overlay:+ and $overlay} into $venv (a few minutes the first time)"
pip_install pip
DAGSTER_SMT_JAR=later pip_install -e '.[dev]'
build_jar
echo "setup: fetching the packages that Spark needs (Delta, Iceberg, Kafka, Avro)"
PYSPARK_PYTHON=$venv/bin/python SPARK_LOCAL_IP=127.0.0.1 "$venv/bin/python" -m dagster_smt.spark.packages >>$log 2>&1 </dev/null ||
  fail "Spark could not fetch its packages from Maven Central: connect to a network (details: $log)."
printf '%s\n' "$wanted" >$stamp
echo "setup: done"
