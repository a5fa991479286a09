#!/usr/bin/env bash
# Guess: attention of a query of NaN is NaN: its scores are, so is their softmax, and a mask of zeros changes nothing.
# Seen on 2026-11-28 with torch 2.13.0 on a CPU: scaled_dot_product_attention of five queries of NaN gives zeros, with an
# additive mask of zeros NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch
from torch.nn.functional import scaled_dot_product_attention as attention

torch.manual_seed(0)
queries, keys = torch.full((1, 1, 5, 8), float("nan")), torch.randn(1, 1, 5, 8)
plain, masked = attention(queries, keys, keys), attention(queries, keys, keys, attn_mask=torch.zeros(5, 5))
print("without a mask:", plain[0, 0, 0, :3].tolist(), "with one:", masked[0, 0, 0, :3].tolist())
assert (plain == 0).all(), "without a mask it is no longer zero"
assert masked.isnan().all(), "with a mask it is no longer NaN"
PY
