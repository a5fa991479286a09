#!/usr/bin/env bash
# Guess: tl.argmax gives one number, the same in each element that it is added to, also where a row has a NaN.
# Seen on 2026-11-28 on an H200 with triton 3.6.0 and torch 2.11.0: added to a vector of zeros, the argmax of a row of
# 16 numbers with a NaN is 9 in 15 elements and 8 in one, and the argmin 10, 7 and 8. A comparison with NaN is false
# both ways, so what two threads keep depends on which of them asks, and each ends with its own answer. Triton's
# interpreter gives 8, the NaN's place, as torch.argmax does. It needs a GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.11.0 triton==3.6.0 numpy
cat >"$work/places.py" <<'PY'
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def places(X, LARGEST, SMALLEST):
    i = tl.arange(0, 16)
    x = tl.load(X + i)
    tl.store(LARGEST + i, tl.argmax(x, 0) + tl.zeros([16], tl.int32))
    tl.store(SMALLEST + i, tl.argmin(x, 0) + tl.zeros([16], tl.int32))


if not torch.cuda.is_available():
    sys.exit("there is no GPU")
nan, inf = float("nan"), float("inf")
row = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, nan, inf, -inf, 1e20, -1e20, 300.0, 1e-40, 3e9]
x = torch.tensor(row, device="cuda")
largest, smallest = (torch.empty(16, dtype=torch.int32, device="cuda") for _ in range(2))
places[(1,)](x, largest, smallest)
print("argmax:", *largest.tolist())
print("argmin:", *smallest.tolist())
sys.exit(len(set(largest.tolist())) == 1 or len(set(smallest.tolist())) == 1)
PY
"$work/venv/bin/python" "$work/places.py" || { echo "one number now, or no GPU"; exit 1; }
