#!/bin/sh
# Make .venv hold this project and its pinned dependencies; do nothing if it already does.
#
# A key in .venv names what was installed: the pins, the project file and the folder. A run that was
# interrupted leaves no key, so the next one starts over; a moved folder or a new pin reinstalls.
set -eu
cd "$(dirname "$0")/.."
here=$(pwd -P)

key="$(cat pyproject.toml benchmarks/pyproject.toml constraints.txt scripts/setup.sh | cksum) $here"
if [ -f .venv/.installed ] && [ "$(cat .venv/.installed)" = "$key" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

python=$(sh scripts/doctor.sh python)
echo "Setting up .venv with $("$python" --version); the first time takes a few minutes and about 1.4 GB."
rm -f .venv/.installed
# Without pip or with another folder's paths in it, a .venv cannot be repaired, only replaced.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1 || ! grep -qsF "$here/.venv" .venv/bin/activate; then
    rm -rf .venv
    "$python" -m venv .venv
fi
.venv/bin/python -m pip install -qq --disable-pip-version-check \
    --constraint constraints.txt --editable '.[dev,spark,rdflib,hdfs]' --editable ./benchmarks
# Compiled kernels are kept for all later runs; without them the first large input would wait for a compiler.
.venv/bin/python -c 'from spaseq.engine.warm import warm_up; warm_up()' ||
    echo "The kernels could not be compiled now; the first large input will try again."
printf '%s\n' "$key" >.venv/.installed
echo "Ready: .venv/bin/spaseq, or \`. .venv/bin/activate\` and then \`spaseq\`"
