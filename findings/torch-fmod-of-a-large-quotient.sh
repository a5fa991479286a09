#!/usr/bin/env bash
# Guess: torch.fmod is C's fmod, which is exact for all finite numbers, and one element's result does not depend on how
# many elements there are.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): fmod and remainder of 3e38 and 0.5 are NaN in the elements
# that vector instructions compute, and 0.0, as in C, in the last few of the same tensor. It is so wherever x / y
# overflows float32: the vector path divides first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import torch

x, y = torch.full((65,), 3e38), torch.full((65,), 0.5)
assert math.fmod(x[0].item(), 0.5) == 0.0
for op in (torch.fmod, torch.remainder):
    found = op(x, y)
    print(op.__name__, found[0].item(), found[-1].item(), op(x[:1], y[:1]).item())
    assert found[0].isnan() and found[-1] == 0 and op(x[:1], y[:1]) == 0, f"{op.__name__} changed: {found}"
PY
