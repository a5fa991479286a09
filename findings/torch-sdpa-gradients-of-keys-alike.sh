#!/usr/bin/env bash
# Guess: gradients of scaled_dot_product_attention are about as exact as those of its steps, products around a softmax.
# Seen on 2026-11-29 with torch 2.13.0 on a CPU, bfloat16: where keys and values share a vector, the gradient of the
# query errs by 0.35 where that of the steps errs by 0.012. A kernel subtracts the sum of `dout * out` from each score's
# gradient, with a result of 16 bits. So a row's gradients sum to what rounding took, and not to 0, and what all keys
# have in common multiplies that. Once the mean of the keys is subtracted from them, the error is 0.012. Kernels of GPUs
# subtract the same sum.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch
from torch.nn import functional as F

draw = torch.Generator().manual_seed(0)
q, k, v, by = (torch.randn(1, 4, 512, 64, generator=draw) for _ in range(4))
k, v = (x + 4 * torch.randn(64, generator=draw) for x in (k, v))
given = [x.to(torch.bfloat16) for x in (q, k, v, by)]


def steps(q, k, v):
    return ((q @ k.mT).float() * 0.125).softmax(-1).to(q.dtype) @ v


def centred(q, k, v):
    return F.scaled_dot_product_attention(q, k - k.mean(-2, keepdim=True), v)


def gradient(call, dtype=torch.bfloat16):
    q, k, v, by = (x.to(dtype, copy=True).requires_grad_() for x in given)
    return torch.autograd.grad(call(q, k, v), q, by)[0].double()


exact = gradient(lambda q, k, v: (q @ k.mT * 0.125).softmax(-1) @ v, torch.float64)
errors = {}
for name, call in (("steps", steps), ("a call", F.scaled_dot_product_attention), ("centred keys", centred)):
    errors[name] = float((gradient(call) - exact).norm() / exact.norm())
    print(f"{name}: the gradient of the query errs by {errors[name]:.1e}")
if not (errors["a call"] > 10 * errors["steps"] and errors["centred keys"] < 2 * errors["steps"]):
    raise SystemExit("the gradient of the query has changed")
PY
