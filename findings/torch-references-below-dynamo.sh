#!/usr/bin/env bash
# Guess: while Dynamo's hook for frames is set, Python hands arguments over by copying them, so that each function on
# the way to another holds references of its own to what it passes on.
# Seen on 2026-11-28 with torch 2.13.0 and Python 3.11 on a CPU: sys.getrefcount of a tensor that passes through two
# functions is 3, and 5 or 9 below torch._dynamo.run, by what was compiled before. A count of Python's references says
# nothing of other owners.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3.11 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat > "$work/references.py" <<'PY'
import sys

import torch


def inner(tensor):
    return sys.getrefcount(tensor)


def outer():
    return middle(torch.ones(3))


def middle(tensor):
    return inner(tensor)


plain, below = outer(), torch._dynamo.run(outer)()
print("plain:", plain, "below Dynamo's hook:", below)
assert plain < below, "the counts are alike now"
PY
"$work/venv/bin/python" "$work/references.py"
