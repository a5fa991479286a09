#!/usr/bin/env bash
# Guess: baddbmm takes out_dtype where bmm does, so torch.compile and the meta device take both.
# Seen on 2026-11-28 with torch 2.11.0, 2.13.0 and 2.15.0: bmm gives a float32 tensor on the meta device, baddbmm
# raises "unsupported operand type(s) for *", as its decomposition takes the dtype for beta. No backend compiles it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch

a = torch.empty(2, 3, 4, dtype=torch.bfloat16, device="meta")
b = torch.empty(2, 4, 5, dtype=torch.bfloat16, device="meta")
c = torch.empty(2, 3, 5, device="meta")
assert torch.bmm(a, b, out_dtype=torch.float32).dtype == torch.float32
try:
    print(torch.baddbmm(c, a, b, out_dtype=torch.float32).dtype)
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("baddbmm takes a dtype on the meta device now")
PY
