#!/usr/bin/env bash
# Guess: NaN sorts last, so boundaries that end with NaN are sorted, and searchsorted finds a number's place among them
# as numpy does: the same as without the NaN.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): in [0, 1, NaN, NaN], 1.0 goes to place 4, behind both, and
# in [0, 1, NaN] it goes to place 1: it depends on whether the bisection meets a NaN, which counts as smaller than any
# number there. NaN itself goes behind all boundaries, with right=False, too. bucketize does the same; numpy gives 1
# for 1.0 in both, and the place of the first NaN for NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import numpy as np
import torch

value = torch.tensor([math.nan, 1.0])
for places, expected in (([0.0, 1.0, math.nan, math.nan], [4, 4]), ([0.0, 1.0, math.nan], [3, 1])):
    boundaries = torch.tensor(places).sort().values
    found = torch.searchsorted(boundaries, value)
    print(places, found.tolist(), np.searchsorted(places, value.numpy()))
    assert np.searchsorted(places, value.numpy()).tolist() == [2, 1]
    assert torch.bucketize(value, boundaries).tolist() == found.tolist()
    assert found.tolist() == expected, f"the places are {found} now"
PY
