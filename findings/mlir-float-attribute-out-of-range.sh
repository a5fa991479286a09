#!/usr/bin/env bash
# Guess: FloatAttr.get refuses a number that its type cannot hold, as IntegerAttr.get and FloatAttr's parser do for what
# they cannot represent.
# Seen on 2026-11-28 with torch-mlir 20261001 (MLIR's Python bindings): 1e40 as f32 is infinity and 1000 as f8E4M3FN is
# NaN, without a diagnostic; both are printed as bits, "0x7F800000 : f32" and "0x7F : f8E4M3FN".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir

with ir.Context(), ir.Location.unknown():
    large = ir.FloatAttr.get(ir.F32Type.get(), 1e40)
    byte = ir.FloatAttr.get(ir.Float8E4M3FNType.get(), 1000.0)
    print(large, byte, byte.value)
    assert str(large) == "0x7F800000 : f32", f"1e40 is {large} now"
    assert str(byte) == "0x7F : f8E4M3FN" and byte.value != byte.value, f"1000 is {byte} now"
PY
