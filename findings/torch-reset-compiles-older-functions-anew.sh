#!/usr/bin/env bash
# Guess: torch._dynamo.reset() forgets what was compiled of functions that are wrapped already, too, so that these are
# compiled again by their next call, with whatever holds then. A script that builds variants in turn, resets in between
# and times all of them at the end times the last variant's patches under each name.
# Seen on 2026-11-28 with torch 2.13.0 and Python 3.11 on a CPU: a function compiled while a setting was 1 multiplies
# by 2 after a reset.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3.11 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat > "$work/reset.py" <<'PY'
import torch

setting = 1


def backend(module, inputs):
    by = setting
    return lambda *args: tuple(by * value for value in module(*args))


compiled = torch.compile(lambda x: x + 0, backend=backend)
first = compiled(torch.ones(1)).item()
setting = 2
kept = compiled(torch.ones(1)).item()
torch._dynamo.reset()
after = compiled(torch.ones(1)).item()
print("first:", first, "with another setting:", kept, "after a reset:", after)
assert (first, kept, after) == (1.0, 1.0, 2.0), "older functions keep what was compiled now"
PY
"$work/venv/bin/python" "$work/reset.py"
