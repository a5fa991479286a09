#!/usr/bin/env bash
# Guess: on the meta device an op gives the strides that it has on a CPU.
# Seen on 2026-11-28 with torch 2.11.0, 2.13.0 and 2.15.0: floor_divide, copysign and xlogy of a transposed tensor and a
# contiguous one are contiguous on the meta device and transposed on a CPU. div and add agree.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch

x, y = torch.rand(6, 4).t(), torch.rand(4, 6)
for op in (torch.div, torch.floor_divide, torch.copysign, torch.xlogy):
    real, meta = op(x, y).stride(), op(x.to("meta"), y.to("meta")).stride()
    print(op.__name__, real, meta)
    assert (real == meta) == (op is torch.div), "the strides agree now"
PY
