#!/usr/bin/env bash
# Guess: a NaN in one row of a batched matrix product of bfloat16 stays in that row of the result, as in float32.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU that multiplies bfloat16 (AVX512_BF16, AMX): where the dim that is
# summed has an odd size and there are many rows, the row before it is NaN, too. A row is read in pairs; the partner
# of its last element is the first element of the next row, and is multiplied by zero. With 8 rows, or an even size,
# or float16, the row before it is right. An attention mask that leaves one query no key so spoils the query before.
# On other CPUs there is nothing to see, and the script says so.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/spread.py" <<'PY'
import sys

import torch


def rows_of_nan(rows, size, dtype):
    x = torch.ones(2, rows, size, dtype=dtype)
    x[:, 3] = float("nan")
    return (x @ torch.ones(2, size, 24, dtype=dtype))[0].isnan().any(-1).nonzero().flatten().tolist()


seen = {
    "bfloat16 of 70 rows and size 63": rows_of_nan(70, 63, torch.bfloat16),
    "bfloat16 of 70 rows and size 64": rows_of_nan(70, 64, torch.bfloat16),
    "bfloat16 of 8 rows and size 63": rows_of_nan(8, 63, torch.bfloat16),
    "float16 of 70 rows and size 63": rows_of_nan(70, 63, torch.float16),
    "float32 of 70 rows and size 63": rows_of_nan(70, 63, torch.float32),
}
print(f"torch {torch.__version__}, rows of NaN where row 3 holds one: {seen}")
if not torch.cpu._is_avx512_bf16_supported():
    print("this CPU has no products of bfloat16: nothing to see")
    sys.exit()
if list(seen.values()) != [[2, 3], [3], [3], [3], [3]]:
    print("torch does otherwise now")
    sys.exit(1)
PY
"$work/venv/bin/python" "$work/spread.py"
