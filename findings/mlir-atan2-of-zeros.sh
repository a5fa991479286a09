#!/usr/bin/env bash
# Guess: where MLIR folds a function of math on constants, the constant is what the C function returns.
# Seen on 2026-11-28 with torch-mlir 20261001: math.atan2 of two zeros, of any signs, folds to NaN, where C returns 0,
# -0, pi and -pi by the signs. All other pairs of zeros, ones and infinities fold to what C returns. The angle of a
# complex zero becomes NaN once its parts are constants, and is right while they are loaded.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
cat >"$work/fold.py" <<'PY'
import math
import re
import struct
import sys

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

VALUES = {"0.0": 0.0, "-0.0": -0.0, "1.0": 1.0, "-1.0": -1.0, "0x7F800000": math.inf, "0xFF800000": -math.inf}


def folded(y: str, x: str) -> float:
    text = f"""func.func @f() -> f32 {{
  %y = arith.constant {y} : f32
  %x = arith.constant {x} : f32
  %r = math.atan2 %y, %x : f32
  return %r : f32
}}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        PassManager.parse("builtin.module(canonicalize)").run(module.operation)
        number = re.search(r"arith.constant (\S+) : f32", str(module)).group(1)
    return struct.unpack(">f", bytes.fromhex(number[2:]))[0] if number.startswith("0x") else float(number)


nans, others = 0, 0
for y, a in VALUES.items():
    for x, b in VALUES.items():
        found = folded(y, x)
        if a == b == 0:
            nans += math.isnan(found)
        else:
            others += math.isclose(found, math.atan2(a, b), rel_tol=1e-6)
print(f"of 4 pairs of zeros {nans} fold to NaN; of {len(VALUES) ** 2 - 4} other pairs {others} to what C returns")
sys.exit((nans, others) != (4, len(VALUES) ** 2 - 4))
PY
"$work/venv/bin/python" "$work/fold.py" || { echo "math.atan2 folds otherwise now"; exit 1; }
