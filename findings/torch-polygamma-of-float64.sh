#!/usr/bin/env bash
# Guess: torch.polygamma(1, x) of a float64 tensor is good to some units of float64, as digamma is.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: for x = 1.08 its relative error is 4.9e-10, two million units. mpmath is
# the reference. digamma of the same x is good to 1e-15.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import mpmath  # torch needs sympy, which needs mpmath
import torch

x = torch.tensor(1.08, dtype=torch.float64)
exact = mpmath.mpf(x.item())
trigamma = abs(float(torch.polygamma(1, x).item() / mpmath.polygamma(1, exact) - 1))
digamma = abs(float(torch.digamma(x).item() / mpmath.digamma(exact) - 1))
print("relative errors: polygamma(1)", trigamma, "digamma", digamma)
assert 1e-10 < trigamma < 1e-9, f"polygamma(1, 1.08) is off by {trigamma} now"
assert digamma < 1e-13, f"digamma(1.08) is off by {digamma} now"
PY
