#!/usr/bin/env bash
# Guess: heaviside of NaN is NaN, as in numpy.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): it is 0.0 for any values, NaN among them, in float32,
# float64, float16 and bfloat16; numpy gives NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import numpy as np
import torch

assert math.isnan(np.heaviside(math.nan, 0.5))
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    x, values = torch.full((40,), math.nan, dtype=dtype), torch.tensor([0.5, math.nan] * 20, dtype=dtype)
    found = torch.heaviside(x, values)
    print(dtype, found[:2])
    assert (found == 0).all(), f"heaviside of NaN is {found} now"
PY
