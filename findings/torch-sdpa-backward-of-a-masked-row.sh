#!/usr/bin/env bash
# Guess: a row of scores that are all the same finite number has equal weights, forward and backward: with n keys each
# gradient of v is 1/n of the gradient of the output.
# Seen on 2026-11-27 with torch 2.13.0 on a CPU, float32, a mask of -1e9: scaled_dot_product_attention's output is that
# of the written-out softmax, but its gradient of v is n times too large. -1e9 + log(n), the log of the sum of the
# exponentials, rounds to -1e9 in float32. The written-out form is right in float32, and so is a mask of -1.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def of_row(n, masked, fused, dtype):
    """The output and the gradient of v, where q is 0: each score is exactly the number of the mask."""
    q, k = torch.zeros(1, 1, 1, 8, dtype=dtype), torch.ones(1, 1, n, 8, dtype=dtype)
    v = torch.arange(n * 8, dtype=dtype).view(1, 1, n, 8).requires_grad_()
    mask = torch.full((1, n), masked, dtype=dtype)
    if fused:
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    else:
        out = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + mask, -1) @ v
    out.sum().backward()
    return out.detach().double(), v.grad.double()


for n in (4, 16):
    out, grad = of_row(n, -1e9, False, torch.float64)
    for masked, fused, factor in ((-1e9, False, 1), (-1.0, True, 1), (-1e9, True, n)):
        out_32, grad_32 = of_row(n, masked, fused, torch.float32)
        seen = (grad_32 / grad).mean().item()
        print(f"n = {n}, mask {masked}, fused {fused}: gradients are {seen:.4f} times float64's")
        torch.testing.assert_close(out_32, out, rtol=1e-5, atol=0)
        if not torch.allclose(grad_32, factor * grad, rtol=1e-4):
            raise SystemExit("the gradient of v has changed")
PY
