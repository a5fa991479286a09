#!/usr/bin/env bash
# Guess: tl.sort gives the elements that it gets, in some order, whatever they are.
# Seen on 2026-11-29 with triton 3.6.0 (and 3.9.0), without a GPU: each of two partners decides for itself whether to
# take the other's element, by one comparison and its side. Where the comparison is false both ways, the left one keeps
# its element and the right one takes a copy: of 3, NaN, 1, 2 the NaN is lost and 3 is there twice, and of a NaN first
# all four are NaN. A sort of 0.0 and -0.0 makes two equal zeros. The TTIR of the compiled kernel has the same selects.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy triton==3.6.0 torch==2.13.0
cat >"$work/sort.py" <<'PY'
import sys

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def ordered(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.sort(tl.load(x + i)))


if sys.argv[1] == "compiled":
    source = ASTSource(fn=ordered, signature={"x": "*fp32", "o": "*fp32"}, constexprs={})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    compared, chosen = text.count("arith.cmpf ogt"), text.count("arith.select")
    print("the compiled sort of 4 has", compared, "comparisons of floats, and", chosen, "selects")
    sys.exit(not (compared == chosen == 3))
nan = float("nan")
expected = {
    (3.0, nan, 1.0, 2.0): [1.0, 2.0, 3.0, 3.0],
    (nan, 3.0, 1.0, 2.0): [nan, nan, nan, nan],
    (0.0, -0.0, 1.0, 1.0): [0.0, 0.0, 1.0, 1.0],
}
for given, sorted_ in expected.items():
    o = torch.empty(4)
    ordered[(1,)](torch.tensor(given), o)
    print(given, "sorted:", o.tolist())
    assert str(o.tolist()) == str(sorted_), f"{given} gives {o.tolist()} now"
PY
TRITON_INTERPRET=1 "$work/venv/bin/python" -W ignore "$work/sort.py" interpreted
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/sort.py" compiled ||
  { echo "Triton sorts otherwise now"; exit 1; }
