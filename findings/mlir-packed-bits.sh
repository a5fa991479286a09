#!/usr/bin/env bash
# Guess: DenseElementsAttr.get of packed bits, with type=i1 and a shape, gives these bits, as its documentation says.
# Seen on 2026-11-27 with torch-mlir 20261001 (MLIR's Python bindings): the attribute is all true, "dense<true>",
# whatever the bits are. An array of bools gives the right one.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
import numpy as np
from torch_mlir import ir

bits = np.array([True, False, True, False, True, False, False, True])
with ir.Context(), ir.Location.unknown():
    i1 = ir.IntegerType.get_signless(1)
    packed = str(ir.DenseElementsAttr.get(np.packbits(bits, bitorder="little"), type=i1, shape=[8]))
    plain = str(ir.DenseElementsAttr.get(bits))
print(packed, plain)
assert packed == "dense<true> : tensor<8xi1>", f"packed bits are read now: {packed}"
assert plain == "dense<[true, false, true, false, true, false, false, true]> : tensor<8xi1>", plain
PY
