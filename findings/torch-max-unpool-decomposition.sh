#!/usr/bin/env bash
# Guess: torch's decomposition of max_unpool2d refuses the indices that max_unpool2d itself refuses.
# Seen on 2026-11-29 with torch 2.13.0 on a CPU: it adds to an index the number of places of all images before its own,
# and counts what is below 0 from the end.  -1 in the second image is the last place of the first one, and the place
# behind the first image is the first place of the second.  Both raise RuntimeError in max_unpool2d.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch
from torch._decomp import decomposition_table

overload = torch.ops.aten.max_unpool2d.default
x = torch.tensor([5.0, 7.0]).reshape(1, 2, 1, 1)
found = {}
for pair in ((0, -1), (4, 1)):
    index = torch.tensor(pair).reshape(1, 2, 1, 1)
    try:
        overload(x, index, [2, 2])
        refused = False
    except RuntimeError:
        refused = True
    found[pair] = refused, decomposition_table[overload](x, index, [2, 2]).flatten().tolist()
print(found)
assert found == {
    (0, -1): (True, [5.0, 0, 0, 7.0, 0, 0, 0, 0]),
    (4, 1): (True, [0, 0, 0, 0, 5.0, 7.0, 0, 0]),
}, f"it is {found} now"
PY
