"""Torch ops that multiply matrices: one table of what each reads, makes and allows.

Products, convolutions and attention run in the vendors' libraries.  Rewrites, passes, the launch plan and the
estimate ask a few questions about such ops; each is a field of ``ProductOp``, and ``PRODUCTS`` answers it for
every op.  Ops have names here, as some who ask know no torch; ``fx/products.py`` gives the overloads.

To add an op, add a line: a field that is left out says "not known", the cautious answer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from .dataclass import dataclass

#: The sizes of a tensor.
Shape = tuple[int, ...]

#: From the sizes of the tensor operands, and of the tensor results, to floating-point operations.
Count = Callable[[Sequence[Shape], Sequence[Shape]], int]

#: Backward attention multiplies five times where forward does twice.
_BACKWARD_ATTENTION = 2.5


@dataclass(frozen=True)
class ProductOp:
    """An op of torch's ``aten``.  Unless said, a field is about the overload ``default``.

    Operands
        factors:     positions of the two tensors that are multiplied, of a product.
        added:       position of the tensor that is added to the product, None for none.
        images:      positions of the tensors that a convolution wants channels-last, the weight last.
        groups:      position of a convolution's number of groups.
        any_strides: it takes operands in any strides, and its meta function tells those of its results.
        paddable:    zeros may be added behind each dim of the factors.
        writes:      positions of the operands that it writes, the first of which is its result.
    Results
        fresh:       its result is known to lie in storage of its own.
        row_major:   its result is a new row-major tensor, whichever kernel of the library computes it.
        out:         the overload that writes into a given tensor, "" for none.
        wide_rows:   ``out`` costs no more where the rows that it writes are further apart.
        activated:   the op that computes an activation of its result as well, "" for none.
    Running
        whole:       the overloads that stay calls of the library on purpose.
        flops:       counts a multiplication and an addition as two operations; of every overload.
        repeatable:  equal operands give equal results; of every overload.
        one_stream:  on one stream equal calls give equal bits, without torch's flag for determinism; of every
                     overload.
        unboxed:     torch has it as a function or method whose arguments C++ reads without boxing them.
    """

    name: str
    kind: Literal["product", "convolution", "attention"] = "product"
    factors: tuple[int, int] | None = None
    added: int | None = None
    images: tuple[int, ...] = ()
    groups: int | None = None
    any_strides: bool = False
    paddable: bool = False
    writes: tuple[int, ...] = ()
    fresh: bool = False
    row_major: bool = False
    out: str = ""
    wide_rows: bool = False
    activated: str = ""
    whole: tuple[str, ...] = ("default",)
    flops: Count | None = None
    repeatable: bool = False
    one_stream: bool = False
    unboxed: bool = False

    @property
    def default(self) -> str:
        """The overload's name in the IR."""
        return f"aten.{self.name}.default"


def _product(left: int, right: int) -> Count:
    return lambda operands, results: 2 * math.prod(operands[left]) * operands[right][-1]


def _convolution(operands: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Each element of the result: the weights of its channel."""
    return 2 * math.prod(results[0]) * math.prod(operands[1][1:])


def _convolution_backward(operands: Sequence[Shape], results: Sequence[Shape]) -> int:
    """As much as forward for each gradient of the image's and the weight's rank."""
    gradient, weight = operands[0], operands[2]
    once = 2 * math.prod(gradient) * math.prod(weight[1:])
    return once * sum(len(r) == len(weight) for r in results)


def _attention(operands: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Both products of q [b, h, t, d], k [b, h, s, d], v [b, h, s, e], as if nothing were masked."""
    query, key, value = operands[:3]
    *batch, rows, width = query
    return 2 * math.prod(batch) * rows * key[-2] * (width + value[-1])


def _attention_backward(operands: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Of the gradient of the result, q, k and v."""
    return int(_BACKWARD_ATTENTION * _attention(operands[1:], results))


#: Positions of the factors of ``x @ y`` and of ``c + x @ y``.
_PLAIN, _ADDED = (0, 1), (1, 2)

#: What the library's matrix products have in common.
_BLAS = ProductOp("", row_major=True, repeatable=True, one_stream=True, unboxed=True)
_XY = replace(_BLAS, factors=_PLAIN, flops=_product(*_PLAIN), whole=("default", "dtype"))
_CXY = replace(_BLAS, factors=_ADDED, added=0, flops=_product(*_ADDED), whole=("default", "dtype"))
_ATTENTION = ProductOp("", "attention", flops=_attention)
_ATTENTION_BACKWARD = replace(_ATTENTION, flops=_attention_backward)

PRODUCTS: tuple[ProductOp, ...] = (
    replace(
        _XY, name="mm", any_strides=True, fresh=True, paddable=True, out="out", wide_rows=True,
        activated="_addmm_activation",
    ),
    replace(_XY, name="bmm", any_strides=True, fresh=True, out="out", wide_rows=True),
    replace(
        _CXY, name="addmm", any_strides=True, fresh=True, paddable=True, out="out",
        activated="_addmm_activation",
    ),
    replace(_CXY, name="baddbmm"),
    ProductOp("addbmm", factors=_ADDED, added=0, one_stream=True),
    replace(_CXY, name="_addmm_activation", any_strides=True, fresh=True, whole=("default",)),
    ProductOp(
        "addmm_", factors=_ADDED, added=0, writes=(0,), flops=_product(*_ADDED), unboxed=True, one_stream=True
    ),
    ProductOp("_scaled_mm", factors=_PLAIN, one_stream=True),
    ProductOp("_int_mm", factors=_PLAIN),
    ProductOp("_grouped_mm", factors=_PLAIN),
    ProductOp("_scaled_grouped_mm", factors=_PLAIN),
    *(ProductOp(name, whole=(), one_stream=True) for name in ("mv", "addmv", "dot", "vdot", "linear")),
    ProductOp(
        "convolution", "convolution", images=(0, 1), groups=8, flops=_convolution, any_strides=True,
        repeatable=True, unboxed=True,
    ),
    ProductOp(
        "convolution_backward", "convolution", images=(0, 1, 2), groups=9, flops=_convolution_backward,
        any_strides=True,
    ),
    replace(_ATTENTION, name="_scaled_dot_product_flash_attention", unboxed=True),
    replace(_ATTENTION, name="_scaled_dot_product_efficient_attention", unboxed=True),
    replace(_ATTENTION, name="_scaled_dot_product_cudnn_attention", unboxed=True),
    replace(_ATTENTION, name="_scaled_dot_product_flash_attention_for_cpu", repeatable=True),
    replace(_ATTENTION, name="_scaled_dot_product_fused_attention_overrideable", whole=()),
    replace(_ATTENTION_BACKWARD, name="_scaled_dot_product_flash_attention_backward"),
    replace(_ATTENTION_BACKWARD, name="_scaled_dot_product_efficient_attention_backward"),
    replace(_ATTENTION_BACKWARD, name="_scaled_dot_product_cudnn_attention_backward"),
    replace(_ATTENTION_BACKWARD, name="_scaled_dot_product_flash_attention_for_cpu_backward"),
    replace(_ATTENTION_BACKWARD, name="_scaled_dot_product_fused_attention_overrideable_backward", whole=()),
)  # fmt: skip
_BY_NAME = {op.name: op for op in PRODUCTS}
assert len(_BY_NAME) == len(PRODUCTS), "an op has one entry"


def product_op(name: str) -> ProductOp | None:
    """The entry of an op as the IR names it, whatever its overload (``aten.mm.out``); None for all others."""
    space, _, rest = name.partition(".")
    return _BY_NAME.get(rest.partition(".")[0]) if space == "aten" else None


def default_overloads(wanted: Callable[[ProductOp], object]) -> frozenset[str]:
    """The names of the ``default`` overloads of the ops that answer a question with yes."""
    return frozenset(op.default for op in PRODUCTS if wanted(op))


def whole_overloads(kind: str) -> tuple[str, ...]:
    """The names of the overloads of a kind that stay calls of the library."""
    return tuple(f"aten.{op.name}.{o}" for op in PRODUCTS if op.kind == kind for o in op.whole)
