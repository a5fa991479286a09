#!/usr/bin/env bash
# Guess: ptxas issues loads in the order of the PTX, or all of them before the first use of one, where registers hold
# what they load.
# Seen on 2026-11-29 with triton 3.6.0, whose ptxas is 12.8: of a row and a matrix, loaded one after the other, the
# matrix is loaded behind the squares of the row, for which the program waits; so it is with a barrier (bar.sync)
# behind the loads. Behind griddepcontrol.launch_dependents nothing is loaded that stands before it, and nothing is
# used. It needs no GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.11.0 triton==3.6.0 numpy setuptools
cat >"$work/loads.py" <<'PY'
import pathlib
import re
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(x, w, v, y, FENCE: tl.constexpr):
    k, n = tl.arange(0, 2048), tl.arange(0, 4)
    at = (tl.program_id(0) * 4 + n[:, None]) * 2048 + k[None, :]
    a, b, c = tl.load(x + k), tl.load(w + at), tl.load(v + at)
    if FENCE == 1:
        tl.debug_barrier()
    if FENCE == 2:
        tl.inline_asm_elementwise(
            "griddepcontrol.launch_dependents; mov.b32 $0, $1;", "=r,r", [0], dtype=tl.int32, is_pure=False, pack=1
        )
    a = a.to(tl.float32)
    a *= tl.rsqrt(tl.sum(a * a))
    tl.store(y + tl.program_id(0) * 8 + n, tl.sum(a[None, :] * b, axis=1))
    tl.store(y + tl.program_id(0) * 8 + 4 + n, tl.sum(a[None, :] * c, axis=1))


behind = []
disassembler = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
for fence, name in enumerate(("nothing", "a barrier", "launch_dependents")):
    signature = {"x": "*bf16", "w": "*bf16", "v": "*bf16", "y": "*fp32", "FENCE": "constexpr"}
    source = ASTSource(product, signature, {(4,): fence}, {(i,): [["tt.divisibility", 16]] for i in range(4)})
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    path = pathlib.Path(sys.argv[1]) / "product.cubin"
    path.write_bytes(made.asm["cubin"])
    text = subprocess.run([disassembler, "-sass", path], capture_output=True, text=True, check=True).stdout
    ops = re.findall(r"/\*[0-9a-f]{4}\*/ +(?:@!?\w+ )?(\w+)", text)
    behind.append(ops[ops.index("FFMA") if "FFMA" in ops else ops.index("FMUL") :].count("LDG"))
    print(f"with {name} behind the loads, {behind[-1]} of {ops.count('LDG')} are behind the first square")
sys.exit(not (behind[0] > 0 and behind[2] == 0))
PY
"$work/venv/bin/python" "$work/loads.py" "$work" || { echo "all are in front now"; exit 1; }
