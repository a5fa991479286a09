#!/usr/bin/env bash
# Guess: fill_(0) of a view that covers a whole tensor leaves zeros there, whatever was there, compiled or not.
# Seen on 2026-11-27 with torch 2.13.0 on a CPU: through m[None].expand(1, 5, 7) the backend aot_eager leaves NaN where
# m held -inf. Without compilation, with the backend eager, and without the expand, it leaves 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def expanded(a):
    m = a + 0
    m[None].expand(1, 5, 7).fill_(0.0)
    return m


def plain(a):
    m = a + 0
    m[None].fill_(0.0)
    return m


a = torch.full((5, 7), float("-inf"))
for name, result in (
    ("not compiled", expanded(a)),
    ("eager", torch.compile(expanded, backend="eager")(a)),
    ("aot_eager, no expand", torch.compile(plain, backend="aot_eager")(a)),
):
    assert (result == 0).all(), f"{name}: {result}"
result = torch.compile(expanded, backend="aot_eager")(a)
print("aot_eager:", result[0].tolist())
assert result.isnan().all(), "aot_eager fills an expanded view otherwise now"
PY
