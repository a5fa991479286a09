#!/usr/bin/env bash
# Guess: where Python has no error, neither has Dynamo: (-0.5) ** 3 is -0.125, whether the float varies between calls or
# not.
# Seen on 2026-11-29 with torch 2.13.0 (and 2.15.0), backend eager: once the float is an argument of the graph, a power
# of it asks torch's symbols whether it is negative, though the exponent is an int. The call raises a TorchRuntimeError,
# "Expected cond to be True, but got False". As the first value, a constant of its graph, the same number is right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat >"$work/power.py" <<'PY'
import logging

import torch

logging.disable(logging.CRITICAL)
ones = torch.ones(1)
for order in ((-0.5, 2.5), (1.5, 2.5, -0.5)):
    torch._dynamo.reset()
    cube = torch.compile(lambda x, s: x * s**3, backend="eager")
    seen = []
    for number in order:
        try:
            seen.append(cube(ones, number).item())
        except RuntimeError as error:
            seen.append("Expected cond to be True, but got False" in str(error))
    print(order, "cubed:", seen)
    assert seen == ([-0.125, 15.625] if len(order) == 2 else [3.375, 15.625, True]), f"{order} gives {seen} now"
PY
"$work/venv/bin/python" "$work/power.py"
