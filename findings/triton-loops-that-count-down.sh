#!/usr/bin/env bash
# Guess: range(start, stop, step) in a kernel is Python's range, so with a step of -1 it counts down.
# Seen on 2026-11-29 with triton 3.6.0 (3.9.0, too), without a GPU: it does where the step is a constant. A step that is
# an argument of the kernel becomes that of scf.for, which has to be positive: the PTX compares start < stop at once, so
# from 10 to 0 it runs zero times and says nothing. Triton's interpreter (3.9.0) runs it ten times.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy triton==3.6.0
cat >"$work/down.py" <<'PY'
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def loop(o, start, stop, step):
    for i in range(start, stop, step):
        tl.store(o + i, i)


source = ASTSource(fn=loop, signature=dict(o="*i32", start="i32", stop="i32", step="i32"), constexprs={})
asm = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm
bounds = re.findall(r"scf\.for .*= %start to %stop step %step", asm["ttir"])
enters = re.findall(r"setp\.(ge|lt|gt|le)\.s32", asm["ptx"])
print("argument:", bounds, "compared by", enters)
changed = not bounds or "gt" in enters
source = ASTSource(fn=loop, signature=dict(o="*i32", start="i32", stop="i32", step="constexpr"), constexprs={(3,): -1})
text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
constant = re.findall(r"scf\.for .*= %stop to %start step %\w+", text)
print("constant:", constant)
sys.exit(changed or not constant)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/down.py" ||
  { echo "Triton counts down otherwise now"; exit 1; }
