"""Matrix products with what is around them, bound by tensor cores, by bytes or by both: more rows than
`cases_contractions.py` has, shapes whose summed dim is short, squares, and the projections of Llama 3.

The weights are those of Llama 3 8B where a name does not say others.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .cases_contractions import BF16, int8_linear, silu_linear
from .graph import Built, Graph, Source, graph_table

#: Outputs and inputs of the gate, of the projection down, and of that of queries, keys and values.
GATE, DOWN, HEADS = (14336, 4096), (4096, 14336), (6144, 4096)
#: The same of Llama 3 70B.
WIDE_GATE, WIDE_DOWN, WIDE_HEADS = (28672, 8192), (8192, 28672), (10240, 8192)
#: Tokens of a prompt.
SHORT, MEDIUM, LONG = 1024, 4096, 16384


def _bytes(source: Source, *tensors: Tensor) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def _residual(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(outputs, inputs), source.normal(rows, outputs)
    return Built(lambda x, w, r: F.linear(x, w) + r, args, _bytes(source, *args, args[2]))


def _swiglu(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(outputs, inputs), source.normal(outputs, inputs)
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(lambda x, w, v: F.silu(F.linear(x, w)) * F.linear(x, v), args, moved)


def _biased(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(outputs, inputs), source.normal(outputs)
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(F.linear, args, moved)


def _erf_gelu(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(outputs, inputs), source.normal(outputs)
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(lambda x, w, b: F.gelu(F.linear(x, w, b)), args, moved)


def _scaled_rows(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(outputs, inputs), source.uniform(0.5, 2.0, rows, 1)
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(lambda x, w, s: F.linear(x, w) * s, args, moved)


def _batched(source: Source, batch: int, size: int) -> Built:
    a, b, c = (source.normal(batch, size, size) for _ in range(3))
    return Built(lambda a, b, c: F.gelu(a @ b + c), (a, b, c), _bytes(source, a, b, c, c))


def _chain(source: Source, rows: int, width: int) -> Built:
    x, w, v = source.normal(rows, width), source.normal(width, width), source.normal(width, width)
    return Built(lambda x, w, v: torch.softmax(x @ w, -1) @ v, (x, w, v), _bytes(source, x, w, v, x))


def _radiance_field(source: Source, rows: int, width: int) -> Built:
    x = source.normal(rows, 64)
    weights = [source.normal(n, width) * n**-0.5 for n in (64, *(width,) * 6)]
    last = source.normal(width, 4) * width**-0.5

    def field(x: Tensor, *weights: Tensor) -> Tensor:
        *inner, last = weights
        for w in inner:
            x = torch.relu(x @ w)
        return x @ last

    moved = _bytes(source, x, *weights, last) + rows * 4 * source.size
    return Built(field, (x, *weights, last), moved)


def _normed(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = source.normal(rows, inputs), source.normal(inputs), source.normal(outputs, inputs)
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(lambda x, g, w: F.linear(F.rms_norm(x, (inputs,), g), w), args, moved)


def _low_rank(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    args = (
        source.normal(rows, inputs),
        source.normal(outputs, inputs),
        source.normal(16, inputs),
        source.normal(outputs, 16),
    )
    moved = _bytes(source, *args) + rows * outputs * source.size
    return Built(lambda x, w, a, b: F.linear(x, w) + F.linear(F.linear(x, a), b), args, moved)


def _graph(name: str, build: Callable[..., Built], sizes: tuple[int, ...], small: tuple[int, ...]) -> Graph:
    title = f"{name}_{'x'.join(map(str, sizes))}"
    return Graph(title, build, sizes, small, BF16, summed=sizes[-1])


#: Of each epilogue, shapes (rows, outputs, inputs): here and above, squares of 8192 have two or more
#: epilogues, those of short sums all five.  The longest sum has one, like most large shapes: the library
#: takes these with any epilogue.  Large shapes lie apart, so that processes that take the cases in turn do
#: not hold many of them at once.
_BY_EPILOGUE: tuple[tuple[str, Callable[..., Built], tuple[tuple[int, int, int], ...]], ...] = (
    (
        "biased",
        _biased,
        (
            (4096, 4096, 4096),
            (8192, 8192, 512),
            (8192, 8192, 1024),
            (8192, 8192, 4096),
            (4096, 50304, 2048),
            (SHORT, *HEADS),
            (LONG, *HEADS),
            (MEDIUM, *WIDE_HEADS),
        ),
    ),
    (
        "swiglu",
        _swiglu,
        (
            (4096, 4096, 4096),
            (8192, 8192, 512),
            (8192, 8192, 1024),
            (SHORT, *GATE),
            (LONG, *GATE),
        ),
    ),
    (
        "erf_gelu",
        _erf_gelu,
        (
            (8192, 8192, 8192),
            (8192, 8192, 2048),
            (MEDIUM, *GATE),
            (SHORT, *WIDE_GATE),
        ),
    ),
    (
        "residual",
        _residual,
        (
            (8192, 8192, 8192),
            (8192, 8192, 2048),
            (8192, 8192, 16384),
            (SHORT, *DOWN),
            (LONG, *DOWN),
            (SHORT, *WIDE_DOWN),
        ),
    ),
    (
        "scaled_rows",
        _scaled_rows,
        (
            (8192, 8192, 2048),
            (8192, 8192, 4096),
            (4096, 50304, 2048),
            (MEDIUM, *HEADS),
            (SHORT, *WIDE_HEADS),
            (LONG, *WIDE_HEADS),
        ),
    ),
)

PRODUCTS = graph_table(
    [
        *(
            _graph(name, build, (rows, *weights), (rows % 100, 64, 128))
            for rows in (16, 64, 512, 4096)
            for name, build, weights in (
                ("linear_silu", silu_linear, GATE),
                ("linear_int8", int8_linear, GATE),
                ("swiglu", _swiglu, GATE),
                ("residual", _residual, DOWN),
            )
        ),
        *(
            _graph(name, build, (8192, 8192, summed), (96, 64, 64))
            for summed in (512, 1024)
            for name, build in (
                ("erf_gelu", _erf_gelu),
                ("residual", _residual),
                ("scaled_rows", _scaled_rows),
            )
        ),
        _graph("batched_gelu", _batched, (16, 512), (2, 64)),
        _graph("softmax_chain", _chain, (65536, 64), (128, 64)),
        _graph("radiance_field", _radiance_field, (262144, 256), (128, 64)),
        _graph("radiance_field", _radiance_field, (262144, 64), (64, 64)),
        _graph("norm_linear", _normed, (4096, 4096, 4096), (64, 64, 64)),
        _graph("low_rank", _low_rank, (4096, 4096, 4096), (64, 64, 64)),
        *(
            _graph(name, build, sizes, (96, 64, 64))
            for name, build, shapes in _BY_EPILOGUE
            for sizes in shapes
        ),
    ]
)
