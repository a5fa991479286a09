#!/usr/bin/env bash
# Guess: TTIR that Triton 3.8 reads, with the eviction policy of a load as an integer, gives the same load with Triton
# 3.9, or is refused, as an unknown property of an op is.
# Seen on 2026-11-29, python 3.11 on a CPU, compiled for sm_90: the PTX of 3.8.0 has ld.global.L1::evict_first, that of
# 3.9.0 has a plain ld.global. 3.9 has one attribute, cachePolicy, in place of `cache` and `evict`; the integer stays on
# the op as an attribute that nobody reads, and the module parses and verifies without a word.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
for version in 3.8.0 3.9.0; do
  "$work/venv/bin/pip" install -q --target "$work/$version" "triton==$version"
done
cat >"$work/copy.ttir" <<'MLIR'
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "copy", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>):
    %i = "tt.make_range"() {start = 0 : i32, end = 128 : i32} : () -> tensor<128xi32>
    %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>>
    %xp = "tt.addptr"(%xs, %i) : (tensor<128x!tt.ptr<f32>>, tensor<128xi32>) -> tensor<128x!tt.ptr<f32>>
    %ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>>
    %yp = "tt.addptr"(%ys, %i) : (tensor<128x!tt.ptr<f32>>, tensor<128xi32>) -> tensor<128x!tt.ptr<f32>>
    %v = "tt.load"(%xp) {evict = 2 : i32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<128x!tt.ptr<f32>>) -> tensor<128xf32>
    "tt.store"(%yp, %v) : (tensor<128x!tt.ptr<f32>>, tensor<128xf32>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
MLIR
cat >"$work/load.py" <<'PY'
import sys

import triton
from triton.backends.compiler import GPUTarget

compiled = triton.compile(sys.argv[1], target=GPUTarget("cuda", 90, 32))
loads = {part for line in compiled.asm["ptx"].splitlines() for part in line.split() if part.startswith("ld.global")}
print(triton.__version__, *sorted(loads))
sys.exit(any("evict_first" in load for load in loads) != (triton.__version__ == "3.8.0"))
PY
for version in 3.8.0 3.9.0; do
  TRITON_CACHE_DIR="$work/cache" TRITON_DEFAULT_FP_FUSION=1 PYTHONPATH="$work/$version" \
    "$work/venv/bin/python" "$work/load.py" "$work/copy.ttir" || { echo "other loads"; exit 1; }
done
