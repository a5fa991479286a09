#!/usr/bin/env bash
# Guess: a pass manager with its verifier on refuses a module that is not valid, whatever passes it runs.
# Seen on 2026-11-27 with torch-mlir 20261001 (MLIR's Python bindings): an empty pipeline, and cse where it changes
# nothing, accept a function that returns i32 and says f32. Operation.verify() refuses it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir, passmanager

with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse("func.func @f() -> i32 { %c = arith.constant 1 : i32 return %c : i32 }")
    wrong = ir.FunctionType.get([], [ir.F32Type.get()])
    module.body.operations[0].attributes["function_type"] = ir.TypeAttr.get(wrong)
    for text in ("builtin.module()", "builtin.module(cse)"):
        manager = passmanager.PassManager.parse(text)
        manager.enable_verifier(True)
        try:
            manager.run(module.operation)
        except ir.MLIRError as error:
            raise SystemExit(f"{text} verifies its input now: {error}")
        print(text, "accepts it")
    try:
        module.operation.verify()
    except ir.MLIRError:
        print("verify() refuses it")
    else:
        raise SystemExit("verify() accepts it now")
PY
