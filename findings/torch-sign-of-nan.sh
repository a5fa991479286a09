#!/usr/bin/env bash
# Guess: torch.sign and torch.heaviside pass NaN on, as numpy.sign and numpy.heaviside and torch's activations do.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: sign, sgn and heaviside of a real NaN are 0. NumPy gives NaN for
# both, and so does torch.sgn of a complex number whose real part is NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import numpy
import torch

missing = torch.tensor([float("nan")])
found = [torch.sign(missing), torch.sgn(missing), torch.heaviside(missing, torch.tensor([5.0]))]
print("torch:", [f.item() for f in found], "NumPy:", numpy.sign(numpy.nan), numpy.heaviside(numpy.nan, 5.0))
assert all(f.item() == 0 for f in found), f"sign, sgn and heaviside of NaN are {found} now"
assert numpy.isnan(numpy.sign(numpy.nan)) and numpy.isnan(numpy.heaviside(numpy.nan, 5.0))
assert torch.sgn(missing.to(torch.complex64)).isnan().all(), "sgn of a complex NaN is a number now"
PY
