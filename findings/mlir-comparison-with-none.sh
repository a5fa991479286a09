#!/usr/bin/env bash
# Guess: an operation, value, block, region, attribute or location of MLIR's Python bindings is not equal to None, and
# `None in operations` is False: other types give False, too (`operation == 1`).
# Seen on 2026-11-28 with torch-mlir 20261001: `== None` and `!= None` raise TypeError (incompatible function arguments),
# for each of them, and so does `None in [operation]`. A type compares with None.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir

with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse("func.func @f(%a: i32) -> i32 { return %a : i32 }")
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    things = (function, block, block.arguments[0], function.regions[0], ir.UnitAttr.get(), ir.Location.unknown())
    for thing in things:
        assert (thing == 1) is False
        for compare in (lambda: thing == None, lambda: thing != None, lambda: None in [thing]):  # noqa: E711
            try:
                raise SystemExit(f"{type(thing).__name__} compares with None now: {compare()}")
            except TypeError as error:
                assert "incompatible function arguments" in str(error)
    assert (ir.IntegerType.get_signless(8) == None) is False  # noqa: E711
    print("TypeError for", ", ".join(type(thing).__name__ for thing in things))
PY
