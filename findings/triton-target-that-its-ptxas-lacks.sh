#!/usr/bin/env bash
# Guess: a target that Triton has no assembler for is refused by name before anything is compiled.
# Seen on 2026-11-27 with triton 3.6.0: for compute capability 11.0 all steps to PTX succeed, LLVM writes ".target
# sm_110a", and then the ptxas that Triton brings says "Value 'sm_110a' is not defined for option 'gpu-name'". The
# exception calls this an "Internal Triton PTX codegen error". 10.0 and 12.0 compile. It needs no GPU. triton 3.9.0
# compiles for 11.0, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/kernel.ttir" <<'IR'
module {
  tt.func public @kernel(%p: !tt.ptr<f32>) {
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %p, %v : !tt.ptr<f32>
    tt.return
  }
}
IR
cat >"$work/compile.py" <<'PY'
import sys

import triton
from triton.backends.compiler import GPUTarget

for capability in (100, 120):
    assert triton.compile(sys.argv[1], target=GPUTarget("cuda", capability, 32)).asm["cubin"]
try:
    triton.compile(sys.argv[1], target=GPUTarget("cuda", 110, 32))
except Exception as error:
    said = str(error)
else:
    said = "nothing: it compiles"
wanted = ("Internal Triton PTX codegen error", "Value 'sm_110a' is not defined for option 'gpu-name'")
if not all(text in said for text in wanted):
    print(f"for 11.0 Triton says otherwise now: {said}")
    sys.exit(1)
print("100 and 120 compile; 110:", *wanted)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/compile.py" "$work/kernel.ttir" >"$work/said" ||
  { tail -3 "$work/said"; exit 1; }
grep -q '^\.target sm_110a' "$work/said" || { echo "no PTX for sm_110a is shown now"; exit 1; }
tail -1 "$work/said"
