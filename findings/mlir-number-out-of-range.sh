#!/usr/bin/env bash
# Guess: a getter of attributes refuses a number that its type cannot hold, and the parser agrees with it.
# Seen on 2026-11-28 with torch-mlir 20261001 (MLIR's Python bindings): IntegerAttr.get makes 44 of 300 as i8, while
# parsing "300 : i8" is an error. FloatAttr.get makes infinity of 1e40 as f32 and NaN of 1000 as f8E4M3FN, printed as
# bits ("0x7F800000 : f32", "0x7F : f8E4M3FN"), and so does the parser. None gives a diagnostic.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch-mlir==20261001
"$work/venv/bin/python" - <<'PY'
from torch_mlir import ir

with ir.Context(), ir.Location.unknown():
    i8, f32, f8 = ir.IntegerType.get_signless(8), ir.F32Type.get(), ir.Float8E4M3FNType.get()
    whole, large, byte = ir.IntegerAttr.get(i8, 300), ir.FloatAttr.get(f32, 1e40), ir.FloatAttr.get(f8, 1000.0)
    parsed = ir.Attribute.parse("1.0e40 : f32")
    print(whole, large, byte, byte.value, parsed)
    assert str(whole) == "44 : i8", f"300 is {whole} now"
    assert str(large) == "0x7F800000 : f32", f"1e40 is {large} now"
    assert str(byte) == "0x7F : f8E4M3FN" and byte.value != byte.value, f"1000 is {byte} now"
    assert parsed == large, f"1.0e40 is read as {parsed} now"
    try:
        raise SystemExit(f"300 : i8 is read as {ir.Attribute.parse('300 : i8')} now")
    except ir.MLIRError as error:
        assert "out of range" in str(error)
PY
