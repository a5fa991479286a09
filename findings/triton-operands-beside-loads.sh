#!/usr/bin/env bash
# Guess: what is computed of a loaded tile, element by element, on its way to a product is computed where the product
# wants it, in registers. Triton loads the tile in that layout.
# Seen on 2026-11-28 with triton 3.6.0, compiled for sm_90, without a GPU: it does, if all that the tile meets is loaded
# in the loop, too, or is a constant. If it is shifted by numbers that differ between lanes (4 * (row % 8), as zero
# points of GPTQ in words), or is an operand of inline PTX beside an address, the result is converted to the
# product's layout in each step, through shared memory (ttg.convert_layout; of batches ttg.local_alloc).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0 numpy
cat >"$work/operands.py" <<'PY'
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def product(W, Z, X, OUT, KIND: tl.constexpr):
    rows, words, columns = tl.arange(0, 16)[:, None], tl.arange(0, 16), tl.arange(0, 8)
    total = tl.zeros([16, 8], tl.float32)
    for k in range(0, 4096, 16):
        w = tl.load(W + rows * 4096 + k + words[None, :])
        x = tl.load(X + (k + words[:, None]) * 8 + columns[None, :])
        if KIND == 1:
            w = w >> (4 * (rows % 8))
        if KIND == 2:
            w = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r,l", [w, Z], dtype=tl.int32, is_pure=True, pack=1)
        if KIND == 3:
            w = w - tl.load(Z + rows * 256 + k // 16)
        total = tl.dot((w & 15).to(tl.bfloat16), x, total)
    tl.store(OUT + rows * 8 + columns[None, :], total)


said = []
for kind, name in enumerate(("alone", "shifts of lanes", "PTX with an address", "a load beside")):
    types = {"W": "*i32", "Z": "*i32", "X": "*bf16", "OUT": "*fp32", "KIND": "constexpr"}
    attrs = {(n,): [["tt.divisibility", 16]] for n in range(4)}
    source = triton.compiler.ASTSource(fn=product, signature=types, constexprs={"KIND": kind}, attrs=attrs)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1, "num_stages": 3})
    said.append(any("convert_layout" in l and "dot_op" in l for l in made.asm["ttgir"].splitlines()))
    print(f"{name}: converted behind it {said[-1]}")
sys.exit(said != [False, True, True, False])
PY
"$work/venv/bin/python" "$work/operands.py" || { echo "another layout now"; exit 1; }
