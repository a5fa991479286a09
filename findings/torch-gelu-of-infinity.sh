#!/usr/bin/env bash
# Guess: gelu of infinity is infinity, for any number of elements and any strides.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): it is infinity for one element, for strided ones
# and with oneDNN switched off, and NaN for several that are contiguous; the greatest float32 becomes infinity
# there, though half of the sum that is computed would fit. approximate="tanh" is infinity for all.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import torch
from torch.nn.functional import gelu

one, many = torch.full((1,), math.inf), torch.full((64,), math.inf)
apart = torch.full((64, 2), math.inf)[:, 0]
largest = torch.full((64,), torch.finfo(torch.float32).max)
print(gelu(one)[0], gelu(apart)[0], gelu(many)[0], gelu(many, approximate="tanh")[0], gelu(largest)[0])
assert gelu(one).isinf().all() and gelu(apart).isinf().all() and gelu(many, approximate="tanh").isinf().all()
assert gelu(many).isnan().all(), f"gelu of infinity is {gelu(many)[0]} now"
assert gelu(largest).isinf().all() and not gelu(largest[:1]).isinf().any()
with torch.backends.mkldnn.flags(enabled=False):
    assert gelu(many).isinf().all()
PY
