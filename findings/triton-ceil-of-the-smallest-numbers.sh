#!/usr/bin/env bash
# Guess: in a kernel the ceiling of a small positive number is 1, and the floor of a small negative one -1.
# Seen on 2026-11-28 with triton 3.6.0: math.ceil and math.floor of float32 are libdevice's, whose PTX flushes numbers
# below the smallest normal one, so both are 0 there (1e-40 on an H200). torch's own kernels give 1 and -1. Rounding
# to the nearest even, and libdevice's trunc, do not flush. LLVM's intrinsics llvm.ceil.f32 and llvm.floor.f32, called by
# name, are the same instructions without it. It needs no GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/steps.py" <<'PY'
import re
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

CALL = 'tt.extern_elementwise %v {{libname = "", libpath = "", pure = true, symbol = "{}"}} : (f32) -> f32'
SEEN = {
    "math.ceil %v : f32": "cvt.rpi.ftz.f32.f32",
    "math.floor %v : f32": "cvt.rmi.ftz.f32.f32",
    "math.roundeven %v : f32": "cvt.rni.f32.f32",
    CALL.format("__nv_truncf"): "cvt.rzi.f32.f32",
    CALL.format("llvm.ceil.f32"): "cvt.rpi.f32.f32",
    CALL.format("llvm.floor.f32"): "cvt.rmi.f32.f32",
}
path = Path(sys.argv[1]) / "kernel.ttir"
for op, seen in SEEN.items():
    path.write_text(f"""module {{
  tt.func public @kernel(%p: !tt.ptr<f32>) {{
    %v = tt.load %p : !tt.ptr<f32>
    %r = {op}
    tt.store %p, %r : !tt.ptr<f32>
    tt.return
  }}
}}
""")
    ptx = triton.compile(str(path), target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    found = re.findall(r"\bcvt\.\S+", ptx)
    print(op.split('"')[-2] if '"' in op else op.split()[0], *found)
    if found != [seen]:
        sys.exit(1)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/steps.py" "$work" ||
  { echo "Triton rounds otherwise now"; exit 1; }
