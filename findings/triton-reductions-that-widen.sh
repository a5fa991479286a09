#!/usr/bin/env bash
# Guess: Triton's reductions and scans of one element type compute in one type: where cumsum needs more bits, so does sum.
# Seen on 2026-11-28 with Triton 3.6.0 (3.8.0, too): sum adds float16 and bfloat16 in 16 bits, where cumsum widens
# bfloat16, but not float16, and max widens both to float32, which changes no maximum. Of int8, sum and cumsum are of
# 32 bits, and cumprod wraps in 8. 3.9.0 is another: cumsum and cumprod of bfloat16 stay in 16 bits, and cumprod of
# int8 is of 32.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/widen.py" <<'PY'
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def total(x, o):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, 64)), 0))


@triton.jit
def highest(x, o):
    tl.store(o, tl.max(tl.load(x + tl.arange(0, 64)), 0))


@triton.jit
def running(x, o):
    tl.store(o + tl.arange(0, 64), tl.cumsum(tl.load(x + tl.arange(0, 64)), 0))


@triton.jit
def products(x, o):
    tl.store(o + tl.arange(0, 64), tl.cumprod(tl.load(x + tl.arange(0, 64)), 0))


def inside(kernel, dtype):
    source = ASTSource(fn=kernel, signature={"x": f"*{dtype}", "o": "*fp32"}, constexprs={})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    return re.search(r"tt\.(?:reduce|scan)\.return %\w+ : (\w+)", text)[1]


expected = {
    "sum": (total, {"fp16": "f16", "bf16": "bf16", "i8": "i32"}),
    "cumsum": (running, {"fp16": "f16", "bf16": "f32", "i8": "i32"}),
    "cumprod": (products, {"fp16": "f16", "bf16": "f32", "i8": "i8"}),
    "max": (highest, {"fp16": "f32", "bf16": "f32", "i8": "i32"}),
}
for name, (kernel, types) in expected.items():
    seen = {dtype: inside(kernel, dtype) for dtype in types}
    print(name, seen)
    assert seen == types, f"{name} computes in {seen} now"
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/widen.py"
