#!/usr/bin/env bash
# Guess: all_reduce with MAX or MIN gives NaN where any rank has one, as torch.maximum does.
# Seen on 2026-11-28 with torch 2.13.0, gloo and two processes: a NaN of rank 0 is the result of both ranks, and a NaN
# of rank 1 is lost without a sign, so the largest gradient of a job looks finite or not by where it was NaN. All four
# float types behave so, and both ranks have the same result. With SUM, PRODUCT and AVG a NaN of either rank stays.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/reduce.py" <<'PY'
import math
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

NAN = float("nan")
MINE = ([NAN, 1.0], [1.0, NAN])  # of rank 0 and of rank 1
#: Of each op: whether the NaN of rank 0, and that of rank 1, is in the result.
SEEN = {"MAX": [True, False], "MIN": [True, False], "SUM": [True, True], "PRODUCT": [True, True], "AVG": [True, True]}


def reduce(rank: int, store: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for op, seen in SEEN.items():
            t = torch.tensor(MINE[rank], dtype=dtype)
            dist.all_reduce(t, getattr(dist.ReduceOp, op))
            stays = [math.isnan(v) for v in t.tolist()]
            if stays != seen:
                sys.exit(f"{op} of {dtype} on rank {rank}: a NaN of rank 0 and of rank 1 stays: {stays}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(reduce, (sys.argv[1],), nprocs=2)
    print("MAX and MIN keep the NaN of rank 0 and lose that of rank 1; SUM, PRODUCT and AVG keep both")
PY
"$work/venv/bin/python" "$work/reduce.py" "$work/store"
