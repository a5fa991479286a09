#!/usr/bin/env bash
# Guess: ptxas adds a constant of 64 bits to an address that was widened from 32 bits as it says: the high word of the
# sum is that of the constant, and a carry.
# Seen on 2026-11-28 with ptxas 12.8 of Triton 3.6.0, for sm_90, and with ptxas 13.0 on the same PTX: where the constant is
# the layout of a block of bfloat16 with 16 columns (wgmma's swizzle of 32 bytes: both upper bits are set), the high word
# of the second descriptor is the constant plus the address. Blocks of 32 columns are right. On an H200 kernels with the
# first form gave wrong results, those with the second did not.
# Needs no GPU: it compiles a product of a product, and reads which register the high word is made of.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat > "$work/descriptors.py" <<'PY'
import pathlib
import re
import subprocess

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

NAMES = {"a": "*bf16", "b": "*bf16", "c": "*bf16", "d": "*fp32", "N": "constexpr"}


@triton.jit
def chain(a, b, c, d, N: tl.constexpr):
    rows, inner, columns = tl.arange(0, 64)[:, None], tl.arange(0, 32), tl.arange(0, N)[None, :]
    first = tl.dot(tl.load(a + rows * 32 + inner[None, :]), tl.load(b + tl.arange(0, 64)[None, :] * 32 + inner[:, None]))
    second = tl.dot(tl.exp(first).to(tl.bfloat16), tl.load(c + rows * N + columns))
    tl.store(d + rows * N + columns, second)


def words(columns):
    """The registers that the low and the high word of a descriptor are made of."""
    source = ASTSource(chain, NAMES, {"N": columns})
    made = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 1})
    pathlib.Path("k.cubin").write_bytes(made.asm["cubin"])
    tool = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    sass = subprocess.run([tool, "-c", "k.cubin"], capture_output=True, text=True, check=True).stdout
    low = dict(re.findall(r"UIADD3 UR\d+, (UP\d), (UR\d+), 0x", sass))
    return [(low.get(carry), high) for high, carry in re.findall(r"UIADD3\.X UR\d+, (UR\w+), -0x\w+, URZ, (UP\d)", sass)]


narrow, wide = words(16), words(32)
print("16 columns (low, high):", narrow, " 32 columns:", wide)
assert any(low == high for low, high in narrow), "the high word has no part of the address any more"
assert not any(low == high for low, high in wide), "wider blocks have the address in the high word, too"
PY
cd "$work" && "$work/venv/bin/python" descriptors.py
