#!/usr/bin/env bash
# Guess: a compiled function returns what the function returns, also where it writes into what dropout gives when it
# does not train. Not compiled, that is its input itself, so that the write is seen there.
# Seen on 2026-11-27 with torch 2.13.0 on a CPU: with the backend aot_eager the write is lost, and the input returned
# as it was. With the backend eager it is kept, and torch 2.15.0 keeps it with aot_eager, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def write(a):
    x = a * 1
    y = torch.nn.functional.dropout(x, 0.5, False)
    y.add_(1)
    return x


a = torch.zeros(3)
assert torch.nn.functional.dropout(a, 0.5, False).data_ptr() == a.data_ptr(), "dropout copies its input now"
assert write(a).tolist() == [1, 1, 1]
assert torch.compile(write, backend="eager")(a).tolist() == [1, 1, 1]
result = torch.compile(write, backend="aot_eager")(a).tolist()
print("not compiled:", write(a).tolist(), "aot_eager:", result)
assert result == [0, 0, 0], f"aot_eager gives {result} now"
PY
