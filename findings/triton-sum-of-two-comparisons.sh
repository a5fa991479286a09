#!/usr/bin/env bash
# Guess: in a kernel (a > 0) + (b > 0) counts, as tl.sum of comparisons does, or is "or", as it is in torch.
# Seen on 2026-11-29 with triton 3.6.0 (3.9.0, too), without a GPU: both are of one bit, and so is the sum, so true and
# true give false. A difference is the same, and minus a comparison is the comparison. A number beside one makes 32 bits
# of it. Triton's interpreter of 3.6.0 gives 1, numpy's "or", that of 3.9.0 gives 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy triton==3.6.0 torch==2.13.0
cat >"$work/bits.py" <<'PY'
import re
import sys

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def counts(x, o):
    i = tl.arange(0, 4)
    positive = tl.load(x + i) > 0
    even = i % 2 == 0
    tl.store(o + i, (positive + even).to(tl.int32))
    tl.store(o + 4 + i, positive + 1)


if sys.argv[1] == "compiled":
    source = ASTSource(fn=counts, signature={"x": "*fp32", "o": "*i32"}, constexprs={})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    types = re.findall(r"arith\.addi %\S+, %\S+ : tensor<4x(\w+)>", text)
    print("sums are of", types)
    sys.exit("i1" not in types)
o = torch.empty(8, dtype=torch.int32)
counts[(1,)](torch.tensor([1.0, 1.0, -1.0, -1.0]), o)
print("interpreted:", o[:4].tolist(), "with a number", o[4:].tolist())
assert o.tolist() == [1, 1, 1, 0, 2, 2, 1, 1], f"the interpreter gives {o.tolist()} now"
PY
TRITON_INTERPRET=1 "$work/venv/bin/python" -W ignore "$work/bits.py" interpreted
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/bits.py" compiled ||
  { echo "Triton adds comparisons otherwise now"; exit 1; }
