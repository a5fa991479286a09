#!/usr/bin/env bash
# Guess: an assertion in front of a loop of products costs what it compares, once.
# Seen on 2026-11-28 with triton 3.6.0, whose ptxas is 12.8: a kernel that calls a function anywhere, as an assertion
# that fails does, waits for each of Hopper's products (wgmma) before it issues the next: ptxas says so (C7510, "wgmma
# pipeline crossing function boundary at a function call"), and the loop has eight WARPGROUP instructions where it has
# two without the assertion. On an H200, products of experts whose kernel asserted took 1.2 to 1.4 times as long as the
# same blocks without. It needs no GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.11.0 triton==3.6.0 numpy setuptools
cat >"$work/calls.py" <<'PY'
import pathlib
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(x, w, y, K, ASSERTS: tl.constexpr):
    m, n, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    if ASSERTS:
        tl.device_assert(K > 0, "nothing is summed")
    total = tl.zeros((128, 128), tl.float32)
    for _ in range(0, K, 64):
        a, b = tl.load(x + m[:, None] * 4096 + k[None, :]), tl.load(w + k[:, None] * 4096 + n[None, :])
        total = tl.dot(a, b, total)
        x += 64
        w += 64 * 4096
    tl.store(y + m[:, None] * 4096 + n[None, :], total)


found = {}
disassembler = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
for asserts in (False, True):
    signature = {"x": "*bf16", "w": "*bf16", "y": "*fp32", "K": "i32", "ASSERTS": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = ASTSource(product, signature, {(4,): asserts}, aligned)
    options = {"num_warps": 4, "num_stages": 3, "debug": True}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    path = pathlib.Path(sys.argv[1]) / "product.cubin"
    path.write_bytes(made.asm["cubin"])
    text = subprocess.run([disassembler, "-sass", path], capture_output=True, text=True, check=True).stdout
    found[asserts] = text.count("WARPGROUP.DEPBAR"), text.count("HGMMA")
    print("with" if asserts else "without", "an assertion: waits and products", *found[asserts])
sys.exit(found[True][0] <= found[False][0])
PY
"$work/venv/bin/python" "$work/calls.py" "$work" || { echo "they run on now"; exit 1; }
