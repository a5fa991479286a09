#!/usr/bin/env bash
# Guess: a compiled function whose number changes from 0.0 to -0.0 is compiled again, or takes the number as an argument.
# Seen on 2026-11-29 with torch 2.13.0 (and 2.14.1), backend eager: the guard compares with ==, for which both zeros are
# one number. The graph of the first holds it as a constant, so copysign(1, -0.0) is 1, and after -0.0 came first,
# copysign(1, 0.0) is -1. Arguments and attributes of modules alike. NaN has a guard of its own. torch 2.15.0 tells both
# zeros apart.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
cat >"$work/zeros.py" <<'PY'
import math

import torch

ones = torch.ones(2)


class Signed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.number = 0.0

    def forward(self, x):
        return torch.copysign(x, self.number)


def signed(x, number):
    return torch.copysign(x, number)


for order in ((0.0, -0.0), (-0.0, 0.0)):
    torch._dynamo.reset()
    compiled = torch.compile(signed, backend="eager")
    seen = [compiled(ones, number)[0].item() for number in order]
    print("an argument", order, "gives", seen)
    assert seen[0] == seen[1] == math.copysign(1, order[0]), f"{order} gives {seen} now"
model = Signed()
compiled = torch.compile(model, backend="eager")
seen = [compiled(ones)[0].item()]
model.number = -0.0
seen.append(compiled(ones)[0].item())
print("an attribute gives", seen, "and not compiled", model(ones)[0].item())
assert seen == [1.0, 1.0] and model(ones)[0].item() == -1.0, f"an attribute gives {seen} now"
PY
"$work/venv/bin/python" "$work/zeros.py"
