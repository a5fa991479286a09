#!/usr/bin/env bash
# Guess: a cast to float8_e8m0fnu, which holds powers of two from 2**-127 on and nothing else, refuses what has no
# nearest power of two, or makes NaN of it: zero and negative numbers.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: -2 becomes 2, zero becomes 2**-127, -0.5 becomes 0.5. 3 becomes 4, and
# infinity NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import torch

cast = torch.tensor([0.0, -2.0, -0.5, 3.0, math.inf]).to(torch.float8_e8m0fnu).float().tolist()
print(cast)
assert cast[:4] == [2.0**-127, 2.0, 0.5, 4.0] and math.isnan(cast[4]), f"it is {cast} now"
PY
