#!/usr/bin/env bash
# Guess: linalg.inv of a singular matrix raises LinAlgError, compiled or not.
# Seen on 2026-11-28 with torch 2.11.0 on a CPU: under the backend aot_eager it gives NaN and infinity without a word,
# and so do linalg.solve, linalg.cholesky and linalg.lu_factor. With torch 2.13.0 all of them raise.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.11.0
"$work/venv/bin/python" - <<'PY'
import torch

singular = torch.ones(3, 3)
try:
    torch.linalg.inv(singular)
except torch.linalg.LinAlgError as error:
    print("not compiled:", error)
else:
    raise AssertionError("eager mode inverts a singular matrix")
found = torch.compile(torch.linalg.inv, backend="aot_eager")(singular)
print("aot_eager:", found.tolist())
assert not found.isfinite().all(), "aot_eager gives finite numbers now"
PY
