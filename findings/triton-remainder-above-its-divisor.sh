#!/usr/bin/env bash
# Guess: in a kernel x % y of floats is smaller than y, as C's fmod is.
# Seen on 2026-11-28 with triton 3.6.0: the PTX for an H100 rounds one quotient to a whole number, and one fma
# subtracts that many y. The quotient of large numbers has errors of many units, so 1e20 % 3 is 2199023255552 on an
# H200 (fmod is 2, and so is the answer of Triton's interpreter). It needs no GPU: the three instructions are
# looked for, and computed with numpy.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0 numpy
cat >"$work/remainder.py" <<'PY'
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import triton
from triton.backends.compiler import GPUTarget

path = Path(sys.argv[1]) / "kernel.ttir"
path.write_text("""module {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %x = tt.load %p : !tt.ptr<f32>
    %y = tt.load %q : !tt.ptr<f32>
    %r = arith.remf %x, %y : f32
    tt.store %p, %r : !tt.ptr<f32>
    tt.return
  }
}
""")
ptx = triton.compile(str(path), target=GPUTarget("cuda", 90, 32)).asm["ptx"]
found = re.findall(r"\b(?:div|cvt|fma|sub|mul)\.\S*f32\S*", ptx)
print("of floats:", *found)
x, y = np.float32(1e20), np.float32(3)
whole = np.trunc(x / y)
rest = float(Fraction(float(x)) - Fraction(float(whole)) * Fraction(float(y)))
print(f"1e20 % 3 is {np.float32(rest)} so; fmod is {math.fmod(float(x), 3.0)}")
sys.exit(found != ["div.rn.f32", "cvt.rzi.f32.f32", "fma.rn.f32"] or re.search(r"\bbra\b", ptx) is not None)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/remainder.py" "$work" ||
  { echo "Triton computes remainders otherwise now"; exit 1; }
