#!/usr/bin/env bash
# Guess: a byte that inline PTX converts on its way to a product of Hopper costs what the PTX says, whichever number of
# bytes the PTX takes at once.
# Seen on 2026-11-29 with triton 3.6.0, compiled for sm_90, without a GPU: a thread has pairs of neighbours of a left
# factor that wgmma takes from registers, and loads them as 16 bits. PTX for four bytes (packed_element = 4) then takes
# four permutations (PRMT) for each two bytes in front, as LLVM takes a pair apart and builds a vector of four. The same
# for two bytes, in a 16-bit register (constraint "h"), takes none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0 numpy
cat >"$work/pairs.py" <<'PY'
import pathlib
import re
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

BITS = "and.b32 $0, all, 0x000F000F; or.b32 $0, $0, 0x43004300; "
TWO = "{ .reg .b32 all; cvt.u32.u16 all, $1; prmt.b32 all, all, 0, 0x4140; " + BITS + "}"
FOUR = "{ .reg .b32 all; prmt.b32 all, $2, 0, 0x4140; " + BITS + "prmt.b32 all, $2, 0, 0x4342; "
FOUR += BITS.replace("$0", "$1") + "}"


@triton.jit
def product(W, X, OUT, TEXT: tl.constexpr, TAKEN: tl.constexpr, COUNT: tl.constexpr):
    rows, columns, k = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros([128, 64], tl.float32)
    for n in range(64):
        w = tl.load(W + rows[:, None] * 4096 + n * 64 + k[None, :])
        x = tl.load(X + columns[None, :] * 4096 + n * 64 + k[:, None])
        w = tl.inline_asm_elementwise(TEXT, TAKEN, [w], dtype=tl.bfloat16, is_pure=True, pack=COUNT)
        total = tl.dot(w, x, total)
    tl.store(OUT + rows[:, None] * 64 + columns[None, :], total)


tool = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
said = []
for text, taken, count in ((FOUR, "=&r,=&r,r", 4), (TWO, "=r,h", 2)):
    types = {"W": "*u8", "X": "*bf16", "OUT": "*fp32", "TEXT": "constexpr", "TAKEN": "constexpr", "COUNT": "constexpr"}
    source = triton.compiler.ASTSource(
        fn=product,
        signature=types,
        constexprs={"TEXT": text, "TAKEN": taken, "COUNT": count},
        attrs={(n,): [["tt.divisibility", 16]] for n in range(3)},
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8, "num_stages": 3})
    file = pathlib.Path(sys.argv[1]) / f"{count}.cubin"
    file.write_bytes(made.asm["cubin"])
    code = subprocess.run([tool, "-sass", file], capture_output=True, text=True, check=True).stdout
    said.append(len(re.findall(r"\bPRMT\b", code)))
    print(f"{count} bytes at once: {said[-1]} PRMT")
sys.exit(said[0] < 3 * said[1])
PY
"$work/venv/bin/python" "$work/pairs.py" "$work" || { echo "as many now"; exit 1; }
