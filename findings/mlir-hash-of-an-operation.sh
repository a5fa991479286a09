#!/usr/bin/env bash
# Guess: an operation is a key of a dict for as long as it lives, since == compares which operation it is.
# Seen on 2026-11-27 with torch-mlir 20261001 (MLIR's Python bindings): its hash covers what it holds, so a dict loses
# an operation that gets an attribute, although it still equals itself. And the value of the signless i1 attribute of
# 1 is -1, where BoolAttr's is True.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir

with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse("func.func @f() -> i32 { %c = arith.constant 1 : i32 return %c : i32 }")
    operation = module.body.operations[0].operation
    known = {operation: "here"}
    operation.attributes["note"] = ir.UnitAttr.get()
    same, found = operation == module.body.operations[0].operation, operation in known
    one = ir.IntegerAttr.get(ir.IntegerType.get_signless(1), 1).value
print("equal:", same, "found:", found, "value of i1 1:", one)
assert same and not found, "a dict finds an operation that was changed now"
assert one == -1, f"the value of the i1 attribute of 1 is {one} now"
PY
