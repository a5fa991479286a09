#!/usr/bin/env bash
# Guess: searchsorted puts NaN, which sorts last, in front of the first NaN of the boundaries, unless right=True, as it
# does with any other number that is there, and as numpy does.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): NaN goes behind all boundaries, with right=False, too, for
# searchsorted and bucketize; numpy gives the place of the first NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import numpy as np
import torch

places = torch.tensor([0.0, 1.0, math.nan, math.nan])
value = torch.tensor([math.nan, 1.0])
left, right = torch.searchsorted(places, value), torch.searchsorted(places, value, right=True)
print(left.tolist(), right.tolist(), torch.bucketize(value, places).tolist(), np.searchsorted(places, value))
assert np.searchsorted(places.numpy(), value.numpy()).tolist() == [2, 1]
assert right.tolist() == [4, 2]
assert left.tolist() == torch.bucketize(value, places).tolist() == [4, 1], f"NaN goes to {left[0]} now"
PY
