#!/usr/bin/env bash
# Guess: what triton.compile makes for a target depends on the kernel, the target and the options.
# Seen on 2026-11-28 with triton 3.6.0, without a GPU: a kernel that stores float32 as f8E5M2 compiles for compute
# capability 8.0, in integer instructions. After the same kernel was compiled for 9.0 in this process it fails for 8.0:
# the PTX for sm_80 holds cvt.rn.satfinite.e5m2x2.f32, and ptxas says that it "requires .target sm_89 or higher". In the
# other order both compile.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/kernel.ttir" <<'IR'
module {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<f8E5M2>) {
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %pp = tt.addptr %ps, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %v = tt.load %pp : tensor<128x!tt.ptr<f32>>
    %c = tt.fp_to_fp %v, rounding = rtne : tensor<128xf32> -> tensor<128xf8E5M2>
    %qs = tt.splat %q : !tt.ptr<f8E5M2> -> tensor<128x!tt.ptr<f8E5M2>>
    %qp = tt.addptr %qs, %r : tensor<128x!tt.ptr<f8E5M2>>, tensor<128xi32>
    tt.store %qp, %c : tensor<128x!tt.ptr<f8E5M2>>
    tt.return
  }
}
IR
cat >"$work/compile.py" <<'PY'
import sys

import triton
from triton.backends.compiler import GPUTarget

for capability in sys.argv[2:]:
    try:
        triton.compile(sys.argv[1], target=GPUTarget("cuda", int(capability), 32))
        print(capability, "compiles")
    except Exception as error:
        print(capability, "fails:", "requires .target sm_89 or higher" in str(error))
PY
in_order() { TRITON_CACHE_DIR=$(mktemp -d -p "$work") "$work/venv/bin/python" "$work/compile.py" "$work/kernel.ttir" "$@" |
  grep -E '^[0-9]+ (compiles|fails)' | tr '\n' ';'; }
alone=$(in_order 80) older_first=$(in_order 80 90) newer_first=$(in_order 90 80)
echo "8.0 alone: $alone older first: $older_first newer first: $newer_first"
[ "$alone" = "80 compiles;" ] && [ "$older_first" = "80 compiles;90 compiles;" ] || { echo "8.0 fails now"; exit 1; }
[ "$newer_first" = "90 compiles;80 fails: True;" ] || { echo "the order does not matter now"; exit 1; }
