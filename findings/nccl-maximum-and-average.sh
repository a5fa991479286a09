#!/usr/bin/env bash
# Guess: all_reduce with MAX of a NaN is NaN, and with AVG of two int8 a number between them.
# Seen on 2026-11-28 on two H200 with torch 2.11.0, its NCCL and CUDA 13.0: MAX and MIN lose a NaN of either rank in
# all four float types (gloo loses that of the later rank alone). AVG of int8 127 and 1 is -64, as the sum wraps
# before it is halved, while AVG of two float32 of 3e38 is 3e38, as each is halved before. gloo refuses AVG of integers
# and gives an infinity for the floats. It needs two GPUs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.11.0 numpy
cat >"$work/reduce.py" <<'PY'
import math
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

NAN = float("nan")


def all_reduced(mine: list[float], dtype: torch.dtype, op: str) -> list[float]:
    t = torch.tensor(mine, device="cuda").to(dtype)
    dist.all_reduce(t, getattr(dist.ReduceOp, op))
    return t.tolist()


def reduce(rank: int, store: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2)
    mine = ([NAN, 1.0], [1.0, NAN])[rank]
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for op in ("MAX", "MIN"):
            if all_reduced(mine, dtype, op) != [1.0, 1.0]:
                sys.exit(f"{op} of {dtype} keeps a NaN now")
        if not all(map(math.isnan, all_reduced(mine, dtype, "SUM"))):
            sys.exit(f"SUM of {dtype} loses a NaN now")
    found = all_reduced([(127, 1)[rank]], torch.int8, "AVG") + all_reduced([3e38], torch.float32, "AVG")
    if found[0] != -64 or math.isinf(found[1]):
        sys.exit(f"averages are {found} now")
    if rank == 0:
        print(f"MAX and MIN lose each NaN; AVG of int8 127 and 1 is {found[0]}, of two 3e38 {found[1]:.3g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    if torch.cuda.device_count() < 2:
        sys.exit("there are no two GPUs")
    mp.spawn(reduce, (sys.argv[1],), nprocs=2)
PY
NCCL_NVLS_ENABLE=0 "$work/venv/bin/python" "$work/reduce.py" "$work/store"
