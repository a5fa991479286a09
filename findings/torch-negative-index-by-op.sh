#!/usr/bin/env bash
# Guess: the index_ family agrees on whether -1 is an index: all of it, as x[index] does, or none of it.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: index_fill, index_put, put and take count -1 from the end. index_add,
# index_copy, index_select (and embedding) raise IndexError; gather and scatter raise RuntimeError.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch

x, last, one = torch.arange(3.0), torch.tensor([-1]), torch.ones(1)
calls = {
    "index_fill": lambda: x.index_fill(0, last, 1.0),
    "index_put": lambda: x.index_put((last,), one),
    "put": lambda: x.put(last, one),
    "take": lambda: x.take(last),
    "index_add": lambda: x.index_add(0, last, one),
    "index_copy": lambda: x.index_copy(0, last, one),
    "index_select": lambda: x.index_select(0, last),
    "embedding": lambda: torch.nn.functional.embedding(last, x[:, None]),
    "gather": lambda: x.gather(0, last),
    "scatter": lambda: x.scatter(0, last, 1.0),
}
said = {}
for name, call in calls.items():
    try:
        call()
        said[name] = "taken"
    except Exception as error:
        said[name] = type(error).__name__
print(said)
taken = ["taken"] * 4
assert list(said.values()) == taken + ["IndexError"] * 4 + ["RuntimeError"] * 2, f"it is {said} now"
PY
