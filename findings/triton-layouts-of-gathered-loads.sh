#!/usr/bin/env bash
# Guess: of a tile whose elements are no neighbours in memory along any dim, such as every second number of an image for
# each tap of a window, neighbouring lanes take the last dim, as they do of all other tiles; and its layout follows from
# its own addresses.
# Seen on 2026-11-29 with triton 3.6.0, compiled for sm_90, without a GPU: lanes go along the first dim (order = [0, 1]),
# an element each. A load in the shape of the tile that the kernel stores gets as many elements of a thread as the store
# has (sizePerThread = [8, 1]): eight loads of 2 bytes each, 32 bytes apart, for lanes that are 4 bytes apart otherwise.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0 numpy
cat >"$work/gathered.py" <<'PY'
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def product(X, W, OUT, ROWS: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr):
    rows, k, columns = tl.arange(0, ROWS), tl.arange(0, K), tl.arange(0, COLUMNS)
    x = tl.load(X + 2 * rows[:, None] + k[None, :] // 3 * 224 + k[None, :] % 3)
    w = tl.load(W + k[:, None] * COLUMNS + columns[None, :])
    tl.store(OUT + rows[:, None] + columns[None, :] * ROWS, tl.dot(x, w).to(tl.bfloat16))


def layout(k):
    signature = {"X": "*bf16", "W": "*bf16", "OUT": "*bf16", "ROWS": "constexpr", "K": "constexpr", "COLUMNS": "constexpr"}
    constants = {"ROWS": 128, "K": k, "COLUMNS": 32}
    source = triton.compiler.ASTSource(product, signature, constants, {(2,): [["tt.divisibility", 16]]})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttgir"]
    name = re.search(rf"tt\.load .*tensor<128x{k}x!tt\.ptr<bf16>, (#\w+)>", text)[1]
    return re.search(rf"^{name} = (.*)$", text, re.MULTILINE)[1]


shared, own = layout(32), layout(16)
print(shared, own, sep="\n")
sys.exit("sizePerThread = [8, 1]" not in shared or "sizePerThread = [1, 1]" not in own or "[0, 1]}" not in own)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/gathered.py" || { echo "other layouts"; exit 1; }
