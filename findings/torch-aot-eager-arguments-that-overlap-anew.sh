#!/usr/bin/env bash
# Guess: a compiled function that writes to its arguments is compiled again, or right, when arguments overlap in another
# way than those that it was compiled for.
# Seen on 2026-11-28 with torch 2.13.0, backend aot_eager, on a CPU: compiled for two parts of a tensor that do not
# overlap, it gives wrong numbers for two parts that do, without a word; the other way round, too, when both move.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def function(x, y):
    x.add_(1)
    y.mul_(2)
    return x + y


def run(call, first, second):
    whole = torch.arange(30.0)
    return call(whole[slice(*first)], whole[slice(*second)]).tolist()


for warm, new in (((0, 10), (15, 25)), ((0, 10), (5, 15))), (((0, 10), (5, 15)), ((3, 13), (8, 18))):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager")
    assert run(compiled, *warm) == run(function, *warm)
    found, expected = run(compiled, *new), run(function, *new)
    print("compiled for", warm, "called with", new, "right:", found == expected)
    assert found != expected, "aot_eager is right now"
PY
