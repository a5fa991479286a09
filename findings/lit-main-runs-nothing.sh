#!/usr/bin/env bash
# Guess: "python -m lit.main TESTS" runs the tests, as "python -m" of a main module does, or says that it cannot.
# Seen on 2026-11-27 with lit 23.1.5: it exits with 0 and prints nothing, although the one test fails. The installed
# command lit fails as it should, and "python -m lit" is refused, as the package has no __main__.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q lit==23.1.5
mkdir "$work/tests"
printf "# RUN: false\n" >"$work/tests/fails.test"
cat >"$work/tests/lit.cfg.py" <<'CFG'
import lit.formats

config.name = "one failing test"
config.test_format = lit.formats.ShTest()
config.suffixes = [".test"]
CFG
said=$("$work/venv/bin/python" -m lit.main "$work/tests") || { echo "python -m lit.main runs tests now"; exit 1; }
[ -z "$said" ] || { echo "python -m lit.main prints now: $said"; exit 1; }
echo "python -m lit.main: exit status 0, no output"
if "$work/venv/bin/lit" -q "$work/tests"; then echo "lit passes a failing test now"; exit 1; fi
echo "lit: the test fails"
