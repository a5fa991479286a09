"""``options={"deterministic": True}``: torch ops give the same bits on every run, or raise as torch does.

Generated kernels are deterministic without atomics, which the importer refuses while torch's flag is set:
those ops run as torch's own, here under that flag.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from ..base.products import product_op


@contextmanager
def deterministic_algorithms() -> Iterator[None]:
    """torch's deterministic algorithms inside, and cuDNN's choice without a benchmark; restored on exit.

    Memory is not filled: a plan writes what it reads.
    """
    enabled, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    filled, benchmark = torch.utils.deterministic.fill_uninitialized_memory, torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = filled
        torch.backends.cudnn.benchmark = benchmark


def deterministic_extern(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, the extern op ``name`` ("aten.index_add.default"), under ``deterministic_algorithms``.

    What it returns raises RuntimeError where torch has no deterministic algorithm.

    Matrix products are called as they are: equal calls on one stream give equal bits, and a launch plan uses
    one.  Because of products on several streams, torch would ask for CUBLAS_WORKSPACE_CONFIG, which has to be
    set before the process starts.
    """
    product = product_op(name)
    if product is not None and product.one_stream:
        return function

    @wraps(function, assigned=())
    def call(*operands: Any) -> Any:
        with deterministic_algorithms():
            return function(*operands)

    return call
