#!/usr/bin/env bash
# Guess: log1p of a complex number with an infinite imaginary part is infinity and a quarter turn, as log of it is.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: log1p of 1e-30 + inf j is NaN in both parts; log of the same is
# inf + 1.5708j.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
from math import inf

import torch

z = torch.full((16,), complex(1e-30, inf))
logarithm, found = torch.log(z)[0], torch.log1p(z)[0]
print("log:", logarithm, "log1p:", found)
assert logarithm.real == inf and abs(logarithm.imag.item() - 1.5707964) < 1e-6
assert found.real.isnan() and found.imag.isnan(), f"log1p gives {found} now"
PY
