"""Measures what it costs to give library ops more to do: `python -m fuse_mlir.bench.library_ops`.

For the sizes of GPT-2, T5 and Llama in bfloat16, in turns on one device: a product alone, with an activation
in its epilogue, and added to its destination, each beside a copy of its result; and attention with a mask,
whose keys are strided or not.  Prints a line of microseconds for each (the median of device time, taken as
`timing.py` says).  `--small` tries the machinery on tiny sizes, on a CPU too.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from .timing import Call, measure, stopwatch

#: Name -> rows, columns that are summed over, columns of the result.
PRODUCTS = {
    "GPT-2 up": (4096, 768, 3072),
    "GPT-2 down": (4096, 3072, 768),
    "T5 out": (4096, 768, 768),
    "Llama out": (4096, 2048, 2048),
    "Llama down": (4096, 8192, 2048),
}
#: Batch, heads, positions, head size.
ATTENTION = (8, 12, 512, 64)
SMALL = 32


def _random(*sizes: int, device: torch.device) -> Tensor:
    return torch.randn(sizes, device=device).mul_(0.05).bfloat16()


def product_calls(rows: int, inner: int, columns: int, device: torch.device) -> dict[str, Call]:
    """The forms of one product of [rows, inner] and [inner, columns]."""
    x, y = _random(rows, inner, device=device), _random(rows, columns, device=device)
    w, b = _random(columns, inner, device=device).t(), _random(columns, device=device)
    with_activation = torch.ops.aten._addmm_activation
    return {
        "mm": partial(torch.mm, x, w),
        "addmm": partial(torch.addmm, b, x, w),
        "with relu": partial(with_activation, b, x, w),
        "with gelu": partial(with_activation, b, x, w, use_gelu=True),
        "added in place": partial(y.clone().addmm_, x, w),
        "gelu alone": partial(F.gelu, y, approximate="tanh"),
        "copy": y.clone,
    }


def attention_calls(batch: int, heads: int, length: int, size: int, device: torch.device) -> dict[str, Call]:
    """Attention with one mask for the batch, in two layouts, with none, and with the causal one."""
    q, k, v = (_random(batch, length, heads, size, device=device).transpose(1, 2) for _ in range(3))
    mask = _random(1, length, length, heads, device=device).permute(0, 3, 1, 2)
    attend = partial(F.scaled_dot_product_attention, q, k, v)
    return {
        "strided mask": partial(attend, attn_mask=mask),
        "contiguous mask": partial(attend, attn_mask=mask.contiguous()),
        "no mask": attend,
        "causal": partial(attend, is_causal=True),
    }


def cases(device: torch.device, small: bool) -> Iterator[tuple[str, dict[str, Call]]]:
    """Names and calls that are timed in turns."""
    scale = SMALL if small else 1
    for name, sizes in PRODUCTS.items():
        rows, inner, columns = (n // scale for n in sizes)
        yield name, product_calls(rows, inner, columns, device)
    batch, heads, length, size = ATTENTION
    yield "attention", attention_calls(batch, heads, length // scale, size, device)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", type=torch.device)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the machinery")
    given = parser.parse_args(arguments)
    device = given.device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    watch = stopwatch(device)
    for name, calls in cases(device, given.small):
        timings = measure(calls, watch, samples=given.samples)
        print(f"{name}: " + ", ".join(f"{form} {timing.device:.1f}" for form, timing in timings.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
