#!/bin/sh
# What this machine lacks, in one sentence each, with the commands that install it.
#
#   doctor.sh          check everything, say what was found
#   doctor.sh python   print the interpreter to use: Python 3.11 or newer with venv
#   doctor.sh java     check the Java that Spark needs: 17 or newer
#
# Sentences about what is missing go to standard error; the status is then 1.
set -u

missing() { # what, why, Debian, macOS, conda
    printf 'spaseq needs %s %s; install it with `%s` (Debian, Ubuntu), `%s` (macOS) or `%s` (conda).\n' \
        "$1" "$2" "$3" "$4" "$5" >&2
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

find_python() {
    without_venv=""
    for name in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python; do
        path=$(command -v "$name" 2>/dev/null) || continue
        is_new_enough "$path" || continue
        if has_venv "$path"; then
            printf '%s\n' "$path"
            return 0
        fi
        [ -n "$without_venv" ] || without_venv=$path
    done
    if [ -n "$without_venv" ]; then
        version=$("$without_venv" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        missing "Python's venv module" "and $without_venv comes without it" \
            "sudo apt install python$version-venv" "brew install python@$version" \
            "conda install -c conda-forge python=$version"
    else
        seen=$(python3 --version 2>/dev/null || python --version 2>/dev/null || echo "no Python")
        missing "Python 3.11 or newer" "and found $seen" "sudo apt install python3 python3-venv" \
            "brew install python@3.12" "conda create -n spaseq -c conda-forge python=3.12 && conda activate spaseq"
    fi
    return 1
}

java_major() { # 17 for 'openjdk version "17.0.15"', 8 for '"1.8.0_402"', nothing without a working Java
    "$1" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; else java=java; fi
    major=$(java_major "$java" 2>/dev/null)
    if [ "${major:-0}" -ge 17 ]; then
        printf '%s\n' "$java"
        return 0
    fi
    seen="no Java"
    [ -n "${major:-}" ] && seen="Java $major"
    [ -n "${JAVA_HOME:-}" ] && seen="$seen at JAVA_HOME=$JAVA_HOME"
    missing "Java 17 or newer for Spark" "and found $seen" "sudo apt install default-jre-headless" \
        "brew install --cask temurin" "conda install -c conda-forge openjdk=17"
    return 1
}

find_make() {
    command -v make && return 0
    missing "make" "and found none" "sudo apt install make" "xcode-select --install" \
        "conda install -c conda-forge make"
    return 1
}

case ${1:-all} in
python) find_python ;;
java) find_java ;;
all)
    status=0
    make=$(find_make) && echo "make:   $make" || status=1
    python=$(find_python) && echo "python: $python ($("$python" --version))" || status=1
    java=$(find_java) && echo "java:   $java ($(java_major "$java"))" || status=1
    exit $status
    ;;
*)
    echo "usage: doctor.sh [python|java]" >&2
    exit 2
    ;;
esac
