#!/usr/bin/env bash
# Guess: the integer in an attribute of type i1 that was made from 1 is 1; what a BoolAttr says, an equal IntegerAttr
# says, too.
# Seen on 2026-11-28 with torch-mlir 20261001 (MLIR's Python bindings): IntegerAttr.get(i1, 1).value is -1, as i1 is a
# signless type and value reads it as signed. The attribute equals BoolAttr.get(True), whose value is True.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir

with ir.Context(), ir.Location.unknown():
    true, one = ir.BoolAttr.get(True), ir.IntegerAttr.get(ir.IntegerType.get_signless(1), 1)
    print(true == one, true.value, one.value)
    assert true == one and true.value is True
    assert one.value == -1, f"one of i1 is {one.value} now"
PY
