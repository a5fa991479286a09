#!/usr/bin/env bash
# Guess: cdist and pdist agree on the distance of the same two points, with the same p.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: for (0, NaN) and (1, 1) with p=inf cdist gives 1, pdist gives NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
from math import inf, isnan, nan

import torch

a, b = torch.tensor([[0.0, nan]]), torch.ones(1, 2)
pairs, one = torch.cdist(a, b, p=inf).item(), torch.pdist(torch.cat([a, b]), p=inf).item()
print("cdist:", pairs, "pdist:", one)
assert pairs == 1, f"cdist gives {pairs} now"
assert isnan(one), f"pdist gives {one} now"
PY
