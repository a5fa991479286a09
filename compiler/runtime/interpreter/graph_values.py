"""What the modules of the graph interpreter share: the state of a run, layouts as numbers, fresh memory."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...base.strides import span
from ...ir.layout import TensorSpec
from ...ir.storage import callee_name
from ...mlir import ir
from ..errors import RunError
from ..rng import RngState
from .scalar.dtypes import memory_dtype, poison

#: Called before a call with the tensors that it is given and None, and after it with those that it read and
#: those that it wrote.
Watch = Callable[[Sequence[Any], Sequence[Any] | None], None]


class Module(Protocol):
    """What a function uses of the module around it (``interpreter.Program``)."""

    shadow: bool
    watched: Mapping[ir.Operation, Watch]
    ranges: Mapping[ir.Operation, str]

    def function(self, name: str, location: ir.Location) -> Any:
        """The Python function that runs a call of ``name``."""

    def declaration(self, name: str) -> ir.Operation:
        """The function or kernel called ``name``."""


@dataclass
class Frame:
    """The state of one run of one function: a value for each slot, sizes by name, the source of random
    numbers."""

    values: list[Any]
    sizes: dict[str, int]
    rng: RngState
    poisoned: bool = True  #: fresh memory is NaN, so that a read of unwritten elements shows; else zeros


#: One op, ready to run: from the operands' values to the results'.
Step = Callable[[Frame, list[Any]], Sequence[Any]]


def spec_of(type_: ir.Type) -> TensorSpec | None:
    """The spec of a tensor type; None for any other."""
    return TensorSpec.of(type_) if isinstance(type_, ir.RankedTensorType) else None


def describe(op: ir.Operation) -> str:
    """The name of an op in messages."""
    return f"call of @{callee_name(op)}" if op.name == "func.call" else op.name


def same_strides(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two stride tuples address the same elements.  Strides of dims of size 1 do not count, nor those
    of an empty tensor."""
    return 0 in shape or all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True))


def layout_of(spec: TensorSpec, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """(shape, strides, offset) of ``spec`` under a symbol environment."""
    shape = tuple(int(e.evaluate(sizes)) for e in spec.sizes)
    return shape, tuple(int(e.evaluate(sizes)) for e in spec.strides), int(spec.offset.evaluate(sizes))


#: Bytes of the machine's memory.
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_room(size: int) -> None:
    """Raises RunError if ``size`` bytes are more than the machine has.  Allocating them might succeed, and
    writing them could make the system kill other processes.
    """
    if size > MEMORY:
        raise RunError(f"{size / 2**30:.3g} GiB are needed, but the machine has {MEMORY / 2**30:.3g} GiB")


def allocate(spec: TensorSpec, sizes: Mapping[str, int], shadow: bool, poisoned: bool = True) -> Tensor:
    """Fresh memory with the layout of ``spec``."""
    shape, strides, offset = layout_of(spec, sizes)
    extent = 0 if 0 in shape else offset + span(shape, strides)
    dtype = memory_dtype(spec.element, shadow)
    check_room(extent * dtype.itemsize)
    memory = torch.zeros(extent, dtype=dtype)
    if poisoned:
        poison(memory)
    return torch.as_strided(memory, shape, strides, offset if extent else 0)
