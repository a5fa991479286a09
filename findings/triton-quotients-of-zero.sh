#!/usr/bin/env bash
# Guess: a quotient that is rounded as IEEE says takes the same time whatever it divides.
# Seen on 2026-11-28 with torch 2.11.0 and Triton 3.6.0 on an H200: 32 quotients (tl.div_rn) of each of 4 million numbers
# take 84 us if the numerators are 1, 110 if one in 32 is 0, and 246 if all are. ptxas checks numerator and divisor (FCHK)
# and calls a function for the warp where one is out of its range, and 0 is. The approximate form takes 48 us.
# Needs a GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.11.0
cat > "$work/quotients.py" <<'PY'
import torch
import triton
import triton.language as tl


@triton.jit
def quotients(a, b, o, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(a + at), tl.load(b + at)
    total = x * 0
    for _ in range(32):
        total += tl.div_rn(x, y + total)
    tl.store(o + at, total)


def microseconds(a, b, o):
    times = []
    for _ in range(9):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(2000000)
        first.record()
        quotients[(a.numel() // 1024,)](a, b, o, 1024)
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) * 1e3)
    return sorted(times)[4]


b = torch.rand(1 << 22, device="cuda") + 1
ones, zeros = (microseconds(torch.full_like(b, value), b, torch.empty_like(b)) for value in (1.0, 0.0))
print(f"numerators of 1: {ones:.0f} us, of 0: {zeros:.0f} us")
assert zeros > 2 * ones, "numerators of 0 take no longer now"
PY
"$work/venv/bin/python" "$work/quotients.py"
