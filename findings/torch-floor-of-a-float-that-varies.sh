#!/usr/bin/env bash
# Guess: a Python float that Dynamo takes as an argument, since it varies, is divided as Python divides: 1.0 // 0.1 is
# 9.0.
# Seen on 2026-11-29 with torch 2.13.0 (and 2.15.0), backend aot_eager, on a CPU: SymFloat makes a // b the floor of a
# rounded quotient, as an integer, which is 10 here, and for infinity -2**63 instead of NaN. The remainder of such a
# float raises an AttributeError about python_mod. The first value is a constant of the graph, and right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat >"$work/floor.py" <<'PY'
import logging
import math

import torch

logging.disable(logging.CRITICAL)
zeros = torch.zeros(1, dtype=torch.float64)
quotient = torch.compile(lambda x, s: x + s // 0.1, backend="aot_eager")
numbers = (1.5, 1.0, math.inf)
eager = [s // 0.1 for s in numbers]
compiled = [quotient(zeros, s).item() for s in numbers]
print(numbers, "// 0.1 is", eager, "compiled", compiled)
assert str(eager) == "[14.0, 9.0, nan]" and compiled == [14.0, 10.0, -(2.0**63)], f"it is {compiled} now"
remainder = torch.compile(lambda x, s: x + s % 0.1, backend="aot_eager")
remainder(zeros, 1.5)
try:
    said = str(remainder(zeros, 1.0).item())
except Exception as error:
    said = str(error)
print("1.0 % 0.1:", said.splitlines()[1])
assert "has no attribute 'python_mod'" in said, f"a remainder gives {said} now"
PY
"$work/venv/bin/python" "$work/floor.py" 2>/dev/null
