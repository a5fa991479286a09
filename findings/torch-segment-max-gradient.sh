#!/usr/bin/env bash
# Guess: the gradient of a maximum treats equal elements alike, whatever the sign of what comes in.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: in segment_reduce three equal elements share a gradient of 1, a third
# each, and each gets the whole of a gradient of -1.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def gradient(number):
    data = torch.ones(3, requires_grad=True)
    torch.segment_reduce(data, "max", lengths=torch.tensor([3])).backward(torch.tensor([number]))
    return data.grad.tolist()


print("of 1:", gradient(1.0), "of -1:", gradient(-1.0))
assert all(abs(g - 1 / 3) < 1e-6 for g in gradient(1.0)), f"of 1 it is {gradient(1.0)} now"
assert gradient(-1.0) == [-1.0] * 3, f"of -1 it is {gradient(-1.0)} now"
PY
