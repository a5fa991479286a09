#!/usr/bin/env bash
# Guess: TRITON_INTERPRET=1 gives what a compiled kernel gives, up to the order of sums, for every dtype that loads.
# Seen on 2026-11-29 with triton 3.6.0 (and 3.9.0), without a GPU: a conversion to bfloat16 cuts digits off, where PTX
# rounds to the nearest. One to 8 bits rounds, but loses the carry: 1.97, which is nearest to 2, becomes 1. Infinity
# becomes 65536 and NaN 98304 in float8e5, 256 and 384 in float8e4nv. tl.dot of bfloat16 multiplies the bits as whole
# numbers: the product of two matrices of ones is 16256 * 16256 * 16, cut to 32 bits, where 16 is right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy triton==3.6.0 torch==2.13.0
cat >"$work/narrow.py" <<'PY'
import math

import torch
import triton
import triton.language as tl


@triton.jit
def through(x, o, dtype: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i).to(dtype).to(tl.float32))


@triton.jit
def product(x, o):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(o + i, tl.dot(tl.load(x + i), tl.load(x + i)))


x = torch.tensor([1 + 0.75 * 2**-7, 1.97, math.inf, math.nan])
expected = {
    tl.bfloat16: (torch.bfloat16, [1.0, 1.96875, math.inf, math.nan]),
    tl.float8e5: (torch.float8_e5m2, [1.0, 1.0, 65536.0, 98304.0]),
    tl.float8e4nv: (torch.float8_e4m3fn, [1.0, 1.0, 256.0, 384.0]),
}
for dtype, (name, numbers) in expected.items():
    o = torch.empty(4)
    through[(1,)](x, o, dtype)
    print(dtype, "gives", o.tolist(), "and torch", x.to(name).float().tolist())
    assert str(o.tolist()) == str(numbers), f"{dtype} gives {o.tolist()} now"
o = torch.empty(16, 16)
product[(1,)](torch.ones(16, 16, dtype=torch.bfloat16), o)
print("a product of ones of bfloat16:", o[0, 0].item())
assert o[0, 0].item() != 16.0, "a product of bfloat16 is right now"
PY
TRITON_INTERPRET=1 "$work/venv/bin/python" -W ignore "$work/narrow.py"
