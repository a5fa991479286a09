#!/usr/bin/env bash
# Guess: x ** 0.5 is the power that C, numpy and IEEE 754 define, whether 0.5 is a number or a tensor: infinity for minus
# infinity, and 0.0 for -0.0.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): with the number 0.5 it is sqrt (NaN and -0.0), with the
# number -0.5 it is rsqrt (NaN and minus infinity), and with a tensor of 0.5 or -0.5 it is the power.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import math

import numpy as np
import torch

x = torch.tensor([-math.inf, -0.0])
half = torch.full((2,), 0.5)
print(x**0.5, x**half, x**-0.5, x**-half, np.power(x.numpy(), half.numpy()))
assert (x**half).tolist() == np.power(x.numpy(), half.numpy()).tolist() == [math.inf, 0.0]
assert (x**-half).tolist() == [0.0, math.inf]
by_number, inverse = x**0.5, x**-0.5
assert by_number[0].isnan() and by_number[1].signbit(), f"x ** 0.5 is {by_number} now"
assert inverse[0].isnan() and inverse[1] == -math.inf, f"x ** -0.5 is {inverse} now"
PY
