#!/usr/bin/env bash
# Guess: whatever gives an operation gives it as its class, so isinstance tells an arith.addf from others, and a view
# of an operation has what the operation has.
# Seen on 2026-11-28 with torch-mlir 20261001 (MLIR's Python bindings): a block, a value's owner and a use give an
# arith.AddFOp, but .operation, .parent, Operation.create and the callback of walk give a plain Operation, which
# equals the view and is no instance of its class. A view has no .block and no .replace_uses_of_with.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir
from torch_mlir.dialects import arith, func

TEXT = "func.func private @f(%a: f32) -> f32 { %b = arith.addf %a, %a : f32\n return %b : f32 }"
with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    view = module.body.operations[0].regions[0].blocks[0].operations[0]
    walked = []
    module.operation.walk(lambda op: walked.append(op) or ir.WalkResult.ADVANCE)
    with ir.InsertionPoint(view):
        created = ir.Operation.create("arith.negf", [view.result.type], [view.operands[0]])
    print(type(view), type(view.operation), type(view.parent), type(created), {type(op) for op in walked})
    assert isinstance(view, arith.AddFOp) and isinstance(view.result.owner, arith.AddFOp)
    assert view.operation == view and not isinstance(view.operation, arith.AddFOp)
    assert not isinstance(view.parent, func.FuncOp) and not any(isinstance(op, ir.OpView) for op in walked)
    assert hasattr(view.operation, "block") and not hasattr(view, "block")
    assert not hasattr(view, "replace_uses_of_with")
    assert not isinstance(created, ir.OpView)
PY
