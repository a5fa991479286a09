#!/usr/bin/env bash
# Guess: torch._foreach_mul_([w, w], [a, b]) is w.mul_(a) and then w.mul_(b), compiled or not, and so is its gradient.
# Seen on 2026-11-28 with torch 2.11.0, 2.13.0 and 2.15.0 on a CPU: eager mode multiplies by both, but the gradient of b
# is made of what w was at first. Under the backend aot_eager the first update is lost.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def together(w, a, b):
    z = w + 0
    torch._foreach_mul_([z, z], [a, b])
    return z


w, a, b = (torch.full((2,), n, requires_grad=True) for n in (2.0, 3.0, 5.0))
eager, compiled = together(w, a, b), torch.compile(together, backend="aot_eager")(w, a, b)
gradient = torch.autograd.grad(eager.sum(), b)[0]
print("eager:", eager.tolist(), "gradient of b:", gradient.tolist(), "aot_eager:", compiled.tolist())
assert eager.tolist() == [30, 30], "eager mode multiplies otherwise now"
assert gradient.tolist() == [2, 2], "the gradient is w * a, 6, now"
assert compiled.tolist() == [10, 10], "aot_eager keeps both updates now"
PY
