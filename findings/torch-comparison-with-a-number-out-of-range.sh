#!/usr/bin/env bash
# Guess: comparing a tensor of integers with a Python number is exact, as in numpy and Python, or an error where the
# dtype cannot hold the number, as where and masked_fill raise.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU (2.15.0, too): the number wraps first. uint8 of 1 equals 257 and is in
# [257] for torch.isin, no uint8 is greater than -1, int8 of -128 equals 384, int32 of 1 equals 2**32 + 1 and is not
# less than 2**40.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import numpy as np
import torch

byte = torch.tensor([1], dtype=torch.uint8)
small, word = torch.tensor([-128], dtype=torch.int8), torch.tensor([1], dtype=torch.int32)
seen = (byte == 257, torch.isin(byte, 257), byte > -1, small == 384, word == 2**32 + 1, word < 2**40)
print(*(answer.item() for answer in seen))
exact = (np.uint8(1) == 257, False, np.uint8(1) > -1, np.int8(-128) == 384, np.int32(1) == 2**32 + 1, True)
assert [bool(answer) for answer in exact] == [False, False, True, False, False, True]
assert [answer.item() for answer in seen] == [True, True, False, True, True, False], "the comparisons changed"
try:
    raise SystemExit(f"masked_fill takes 300 as int8 now: {small.masked_fill(small == 1, 300)}")
except RuntimeError as error:
    assert "without overflow" in str(error)
PY
