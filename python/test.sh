#!/bin/sh
# The tests, with a Python that has pandas; `cargo xtask test` provides one.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
exec "${WINDAGE_TEST_PYTHON:-python3}" -m unittest discover tests
