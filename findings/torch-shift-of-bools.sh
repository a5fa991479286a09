#!/usr/bin/env bash
# Guess: what eager computes of bools, a fake tensor knows the shape and dtype of.
# Seen on 2026-11-28 with torch 2.13.0: eager shifts a bool tensor by an int and gives int64, 2 for True << 1. Under
# FakeTensorMode the same raises "lshift: Expected input tensor to have an integral dtype. Got torch.bool", so that no
# torch.compile takes it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import logging

import torch
from torch._subclasses import FakeTensorMode

logging.disable(logging.CRITICAL)
eager = torch.ones(2, dtype=torch.bool) << 1
try:
    with FakeTensorMode():
        torch.ones(2, dtype=torch.bool) << 1
    said = "nothing"
except RuntimeError as error:
    said = str(error)
print(eager, "fake:", said)
assert eager.tolist() == [2, 2] and eager.dtype == torch.int64, f"eager gives {eager} now"
assert "Expected input tensor to have an integral dtype" in said, f"a fake tensor says {said} now"
PY
