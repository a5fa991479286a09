"""Times one decoding step of attention under a mask: eager, Inductor and this backend.

``python -m fuse_mlir.bench.masked_decoding`` prints device milliseconds of a call, the median of 50, on the
current CUDA device.  "open" has no mask, so that nothing is rewritten.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir

#: Batch, keys, heads of queries and of keys.
SIZES = (
    (1, 32768, 32, 8),
    (1, 8192, 32, 8),
    (4, 32768, 32, 8),
    (16, 8192, 32, 8),
    (1, 32768, 32, 32),
    (1, 8192, 32, 32),
    (1, 65536, 16, 16),
)
WIDTH = 128


def grouped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=q.shape[1] != k.shape[1])


def spelled_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    rows = q.view(q.shape[0], k.shape[1], -1, WIDTH)
    scores = rows @ k.mT * WIDTH**-0.5
    return (scores if mask is None else scores + mask).softmax(-1) @ v


def _milliseconds(call: Callable[..., Any], *args: Any) -> float:
    for _ in range(5):
        call(*args)
    times = []
    for _ in range(50):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        call(*args)
        after.record()
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after))
    return sorted(times)[len(times) // 2]


def main() -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    for batch, keys, heads, key_heads in SIZES:
        q = torch.randn(batch, heads, 1, WIDTH, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, key_heads, keys, WIDTH, device="cuda", dtype=q.dtype) for _ in range(2))
        seen = (torch.arange(keys, device="cuda") < keys - 100).expand(batch, 1, 1, keys).contiguous()
        bias = torch.zeros_like(seen, dtype=q.dtype).masked_fill(~seen, -torch.inf)
        for form, name, mask in (
            (grouped, "bool", seen),
            (grouped, "added", bias),
            (grouped, "open", None),
            (spelled_out, "added", bias),
            (spelled_out, "open", None),
        ):
            row = [_milliseconds(form, q, k, v, mask)]
            for backend in ("inductor", fuse_mlir.backend):
                torch._dynamo.reset()
                row.append(_milliseconds(torch.compile(form, backend=backend, dynamic=False), q, k, v, mask))
            what = f"{batch} x {keys}, {heads}/{key_heads} heads, {form.__name__}, {name}"
            print(f"{what:55s} eager {row[0]:7.3f}  inductor {row[1]:7.3f}  fuse {row[2]:7.3f}", flush=True)


if __name__ == "__main__":
    main()
