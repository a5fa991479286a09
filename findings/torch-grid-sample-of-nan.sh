#!/usr/bin/env bash
# Guess: a point of NaN in the grid of grid_sample gives NaN, or else what padding gives, in images and volumes alike.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU, bilinear: in an image NaN with padding zeros, the first pixel with
# border; in a volume 0 with zeros, the last voxel with border.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
from math import isnan, nan

import torch
from torch.nn.functional import grid_sample

found = {}
for rank in (2, 3):
    image = torch.arange(2.0**rank).view(1, 1, *[2] * rank) + 1
    point = torch.full((1, *[1] * rank, rank), nan)
    for padding in ("zeros", "border"):
        sampled = grid_sample(image, point, "bilinear", padding, align_corners=False)
        found[rank, padding] = sampled.item()
print(found)
assert isnan(found[2, "zeros"]) and found[3, "zeros"] == 0, f"with zeros it is {found} now"
assert found[2, "border"] == 1 and found[3, "border"] == 8, f"with border it is {found} now"
PY
