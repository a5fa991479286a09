#!/usr/bin/env bash
# Guess: a kernel that converts an integer to float64 and this to float32 rounds twice, as the program says.
# Seen on 2026-11-28 with triton 3.6.0: MLIR's canonicaliser makes one conversion of the two, without a flag that
# allows it, so the PTX has cvt.rn.f32.s64 alone, and int64 to float32 to bfloat16 is cvt.rn.bf16.s64. torch rounds
# twice: 2**53 + 2**29 + 1 becomes 2**53 through float64 and 2**53 + 2**30 at once. With the rounding mode
# to_nearest_even, which is the default, written on the arith.truncf both conversions stay. It needs no GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/compile.py" <<'PY'
import re
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

TEXT = """module {{
  tt.func public @kernel(%p: !tt.ptr<i64>, %q: !tt.ptr<f32>, %h: !tt.ptr<bf16>) {{
    %v = tt.load %p : !tt.ptr<i64>
    %d = arith.sitofp %v : i64 to f64
    %f = arith.truncf %d{mode} : f64 to f32
    tt.store %q, %f : !tt.ptr<f32>
    %e = arith.sitofp %v : i64 to f32
    %b = arith.truncf %e{mode} : f32 to bf16
    tt.store %h, %b : !tt.ptr<bf16>
    tt.return
  }}
}}
"""


def conversions(mode: str) -> list[str]:
    path = Path(sys.argv[1]) / "kernel.ttir"
    path.write_text(TEXT.format(mode=mode))
    ptx = triton.compile(str(path), target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    return re.findall(r"\bcvt\.\S+", ptx)


plain, said = conversions(""), conversions(" to_nearest_even")
print("as it is written:", *plain)
print("with the mode:   ", *said)
sys.exit(
    plain != ["cvt.rn.f32.s64", "cvt.rn.bf16.s64"]
    or said != ["cvt.rn.f64.s64", "cvt.rn.f32.f64", "cvt.rn.f32.s64", "cvt.rn.bf16.f32"]
)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/compile.py" "$work" ||
  { echo "Triton converts otherwise now"; exit 1; }
