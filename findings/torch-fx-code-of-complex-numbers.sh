#!/usr/bin/env bash
# Guess: the code that torch.fx writes of a graph has the numbers of the graph, as it does for infinity and NaN.
# Seen on 2026-11-29 with torch 2.13.0: a complex number is written as Python prints it. complex(inf, nan) becomes
# "(inf+nanj)", which names something that is not there, so torch.compile raises NameError when the function runs.
# complex(-0.0, 1) becomes "(-0+1j)", whose real part is 0.0: the compiled answer has another sign of zero, and so has a
# program that torch.export gives. torch 2.14.1 writes both right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat >"$work/code.py" <<'PY'
import math

import torch


class Filled(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return torch.full_like(x, self.number)


def real_sign(result):
    return math.copysign(1, result[0].real.item())


x = torch.ones(2, dtype=torch.complex64)
zero, wide = Filled(complex(-0.0, 1)), Filled(complex(math.inf, math.nan))
signs = {
    "eager": real_sign(zero(x)),
    "compiled": real_sign(torch.compile(zero, backend="eager")(x)),
    "exported": real_sign(torch.export.export(zero, (x,)).module()(x)),
}
print("signs of the real part:", signs)
assert signs == {"eager": -1.0, "compiled": 1.0, "exported": 1.0}, f"the signs are {signs} now"
try:
    said = str(torch.compile(wide, backend="eager")(x))
except NameError as error:
    said = str(error)
print(wide(x)[0].item(), "compiled:", said)
assert said == "name 'nanj' is not defined", f"it gives {said} now"
PY
"$work/venv/bin/python" "$work/code.py" 2>/dev/null
