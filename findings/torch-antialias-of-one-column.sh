#!/usr/bin/env bash
# Guess: antialiased resizing treats an image of one column like the same column in a wider image.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: a column 0, 1 that is resized to eight rows, bilinear with
# antialias=True, becomes eight zeros. In an image of two such columns it becomes 0, 0, 1/8, 3/8, 5/8, 7/8, 1, 1, as it
# does alone without antialias.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch
from torch.nn.functional import interpolate

column = torch.tensor([0.0, 1.0]).view(1, 1, 2, 1)
alone = interpolate(column, size=(8, 1), mode="bilinear", antialias=True).flatten().tolist()
beside = interpolate(column.repeat(1, 1, 1, 2), size=(8, 2), mode="bilinear", antialias=True)[0, 0, :, 0].tolist()
print("alone:", alone, "beside another:", beside)
assert beside == [0.0, 0.0, 0.125, 0.375, 0.625, 0.875, 1.0, 1.0]
assert alone == [0.0] * 8, f"a column alone becomes {alone} now"
PY
