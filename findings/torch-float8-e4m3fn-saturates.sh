#!/usr/bin/env bash
# Guess: a cast to float8_e4m3fn, which has no infinity, makes NaN of what it cannot hold, as torch 2.11 does; where a
# release saturates, it does so for the other 8-bit formats, too.
# Seen on 2026-11-28 on a CPU: with torch 2.13.0 (and 2.15.0) float8_e4m3fn makes 448 of 1000 and of infinity, -448 of
# minus infinity, and keeps NaN. float8_e5m2 makes infinity of 1e6, float8_e4m3fnuz NaN of 1000. torch 2.11.0 made NaN
# of anything above 464, infinity included.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
from math import inf, isnan, nan

import torch


def cast(number, dtype):
    return torch.tensor([number]).to(dtype).float().item()


fn = [cast(number, torch.float8_e4m3fn) for number in (465.0, 1000.0, inf, -inf)]
print("e4m3fn:", fn, "e5m2 of 1e6:", cast(1e6, torch.float8_e5m2))
assert fn == [448.0, 448.0, 448.0, -448.0], f"float8_e4m3fn makes {fn} now"
assert isnan(cast(nan, torch.float8_e4m3fn))
assert cast(1e6, torch.float8_e5m2) == inf, "float8_e5m2 saturates now"
assert isnan(cast(1000.0, torch.float8_e4m3fnuz)), "float8_e4m3fnuz saturates now"
PY
