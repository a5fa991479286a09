#!/usr/bin/env bash
# Guess: what is updated in place keeps its strides, compiled or not, so that as_strided reads the same elements.
# Seen on 2026-11-28 with torch 2.11.0, 2.13.0 and 2.15.0 on a CPU: under the backend aot_eager a transposed tensor is
# contiguous after masked_fill_ (and index_add_, scatter_, cumsum_, tril_, addmm_), and as_strided reads other elements.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def filled(x, mask):
    z = x + 0
    z.masked_fill_(mask, -1.0)
    return z.as_strided((6,), (1,))


x, mask = torch.arange(6.0).reshape(2, 3).t(), torch.tensor([[True, False]] * 3)
wanted = filled(x, mask)
assert torch.equal(torch.compile(filled, backend="eager")(x, mask), wanted)
found = torch.compile(filled, backend="aot_eager")(x, mask)
print("eager:", wanted.tolist(), "aot_eager:", found.tolist())
assert wanted.tolist() == [-1, -1, -1, 3, 4, 5] and found.tolist() == [-1, 3, -1, 4, -1, 5], "they agree now"
PY
