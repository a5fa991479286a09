#!/usr/bin/env bash
# Guess: torch._foreach_lerp_([z, z], [a, b], w) is z.lerp_(a, w) and then z.lerp_(b, w), whatever w is, compiled or not.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: so it is in eager mode. Dynamo captures both differences from what z was
# at first, and from w = 0.5 on also copies the ends into z before: under the backend eager, nothing of w is right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch

z, a, b = torch.zeros(1), torch.ones(1), torch.ones(1)
for w, eager, compiled in ((0.25, 0.4375, 0.5), (0.5, 0.75, 0.0), (0.75, 0.9375, 0.5)):

    def together(z, a, b):
        y = z.clone()
        torch._foreach_lerp_([y, y], [a, b], w)
        return y

    torch._dynamo.reset()
    found = together(z, a, b).item(), torch.compile(together, backend="eager")(z, a, b).item()
    print("weight", w, "eager mode:", found[0], "compiled:", found[1])
    assert found == (eager, compiled), "it is otherwise now"
PY
