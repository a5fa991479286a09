"""How an exported program is called, as data, and the check of a call against it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_unflatten

from ...base.dataclass import dataclass
from ...base.errors import PackageCall
from ...index import Expr, parse


@dataclass(frozen=True)
class TensorLook:
    """What a program was compiled for.  dtype: "torch.float32".  sizes, strides: in elements, texts of index
    expressions over ``Symbol``s.
    """

    dtype: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]

    @cached_property
    def size_expressions(self) -> tuple[Expr, ...]:
        """``sizes``, parsed.  Raises ValueError for a text that is none."""
        return tuple(map(parse, self.sizes))

    @cached_property
    def stride_expressions(self) -> tuple[Expr, ...]:
        """``strides``, parsed, as above."""
        return tuple(map(parse, self.strides))


@dataclass(frozen=True)
class Weight:
    """An input that is a parameter, a buffer or a constant tensor, by its name in the exported program."""

    name: str
    look: TensorLook


@dataclass(frozen=True)
class ArgumentTensor:
    """An input that is flat argument ``number`` of the call, called ``name`` in messages."""

    number: int
    name: str
    look: TensorLook


@dataclass(frozen=True)
class FixedArgument:
    """A flat argument that has to have the value with which the program was exported."""

    number: int
    name: str
    value: Any


@dataclass(frozen=True)
class Symbol:
    """A size that calls choose, from ``least`` to ``most`` (None: without a limit)."""

    name: str
    least: int
    most: int | None


@dataclass(frozen=True)
class CallSignature:
    """inputs: of the program, in order.  fixed: what the call also takes.  written: inputs that the program
    writes to.  in_spec, out_spec: how torch's pytree flattens ``(args, kwargs)``, and the results.
    """

    inputs: tuple[Weight | ArgumentTensor, ...]
    fixed: tuple[FixedArgument, ...]
    symbols: tuple[Symbol, ...]
    written: tuple[int, ...]
    in_spec: str
    out_spec: str

    @property
    def arguments(self) -> int:
        """How many flat arguments a call has."""
        return len(self.fixed) + sum(isinstance(each, ArgumentTensor) for each in self.inputs)


class Checked:
    """Turns the flat arguments of a call into the inputs of the program.

    weights: the tensors of the ``Weight``s by name.  device: where arguments have to be.
    """

    def __init__(
        self, signature: CallSignature, weights: Mapping[str, torch.Tensor], device: torch.device
    ) -> None:
        self._signature, self._device = signature, device
        self._symbols = {symbol.name: symbol for symbol in signature.symbols}
        self._inputs: list[torch.Tensor | None] = [
            weights[each.name] if isinstance(each, Weight) else None for each in signature.inputs
        ]
        self._arguments = [
            (place, each) for place, each in enumerate(signature.inputs) if isinstance(each, ArgumentTensor)
        ]

    def inputs(self, flat: Sequence[Any]) -> list[Any]:
        """The program's inputs.  Raises ``PackageCall`` for an argument that the program was not made for.
        One with other strides is copied, unless the program writes to it.
        """
        for fixed in self._signature.fixed:
            given = flat[fixed.number]
            if type(given) is not type(fixed.value) or given != fixed.value:
                raise PackageCall(name=fixed.name, expected=repr(fixed.value), found=_shown(given))
        found: list[Any] = list(self._inputs)
        sizes: dict[str, int] = {}
        for place, argument in self._arguments:
            tensor = flat[argument.number]
            self._check(argument, tensor, sizes)
            found[place] = tensor
        for place, argument in self._arguments:
            found[place] = self._laid_out(place, argument, found[place], sizes)
        return found

    def _check(self, argument: ArgumentTensor, tensor: Any, sizes: dict[str, int]) -> None:
        """Checks dtype, device and sizes, and learns the symbols that are sizes."""
        look = argument.look
        fits = isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided
        if not (fits and str(tensor.dtype) == look.dtype and tensor.dim() == len(look.sizes)):
            raise self._wrong(argument, tensor)
        if tensor.device != self._device:
            raise PackageCall(
                name=argument.name, expected=f"a tensor on {self._device}", found=_shown(tensor)
            )
        for expected, size in zip(look.size_expressions, tensor.shape, strict=True):
            known = expected.constant
            name = str(expected)
            if known is None and name in self._symbols:
                symbol = self._symbols[name]
                known = sizes.setdefault(name, size)
                if not symbol.least <= size <= (size if symbol.most is None else symbol.most):
                    raise self._wrong(argument, tensor)
            if known is not None and known != size:
                raise self._wrong(argument, tensor)

    def _laid_out(
        self, place: int, argument: ArgumentTensor, tensor: torch.Tensor, sizes: Mapping[str, int]
    ) -> torch.Tensor:
        """The argument with the strides that the program was compiled for."""
        look = argument.look
        if tuple(size.evaluate(sizes) for size in look.size_expressions) != tuple(tensor.shape):
            raise self._wrong(argument, tensor)
        strides = tuple(stride.evaluate(sizes) for stride in look.stride_expressions)
        pairs = zip(tensor.shape, tensor.stride(), strides, strict=True)
        if all(mine == theirs for size, mine, theirs in pairs if size > 1) or not tensor.numel():
            return tensor
        if place in self._signature.written:
            expected = f"strides {strides}, since the program writes to it"
            raise PackageCall(name=argument.name, expected=expected, found=f"strides {tensor.stride()}")
        return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(
            tensor
        )

    def _wrong(self, argument: ArgumentTensor, given: Any) -> PackageCall:
        look = argument.look
        named = set(look.sizes) & self._symbols.keys()
        limits = ", ".join(_limits(self._symbols[name]) for name in sorted(named))
        expected = f"{look.dtype} [{', '.join(look.sizes)}]" + (f" with {limits}" if limits else "")
        return PackageCall(name=argument.name, expected=expected, found=_shown(given))


def call_text(spec: TreeSpec) -> str:
    """How ``(args, kwargs)`` look that pytree flattens so, in one line: ``(*, [*, *], scale=*)``."""
    try:
        args, kwargs = tree_unflatten([_Leaf()] * spec.num_leaves, spec)
        named = [f"{name}={value!r}" for name, value in kwargs.items()]
        return f"({', '.join([*map(repr, args), *named])})"
    except Exception:  # of a container of the user's, which may want other leaves
        return " ".join(str(spec).split())


class _Leaf:
    """Stands for an argument."""

    def __repr__(self) -> str:
        return "*"


def _limits(symbol: Symbol) -> str:
    return f"{symbol.least} <= {symbol.name}" + (f" <= {symbol.most}" if symbol.most is not None else "")


def _shown(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return (
            repr(value)
            if value is None or isinstance(value, bool | int | float | str)
            else type(value).__name__
        )
    return f"{value.dtype} {list(value.shape)} on {value.device}"
