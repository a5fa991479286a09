#!/usr/bin/env bash
# Guess: embedding_bag(mode="max") passes NaN on like max and amax, or ignores it, wherever its row stands in the bag.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: a NaN in the first row of a bag is the result, one in a later row is
# passed over.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
from math import isnan, nan

import torch
from torch.nn.functional import embedding_bag

weight = torch.tensor([[1.0], [nan], [2.0]])
first, later = (embedding_bag(torch.tensor([ids]), weight, mode="max").item() for ids in ([1, 0], [0, 1]))
print("NaN first:", first, "NaN later:", later)
assert isnan(first), f"a bag whose first row is NaN has {first} now"
assert later == 1, f"a bag whose second row is NaN has {later} now"
assert weight.amax().isnan()
PY
