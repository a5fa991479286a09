"""What a test or a benchmark needs to know of a model: how to build it, feed it, and reduce it to a loss.

A `ModelCase` holds functions, so that listing the cases costs nothing and imports nothing. Weights and
inputs are drawn from fixed seeds on the CPU in float32, then moved and cast: every device and dtype sees
the same numbers, up to rounding.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

Mode = Literal["inference", "training"]
Size = Literal["tiny", "base"]
BOTH_MODES: tuple[Mode, ...] = ("inference", "training")


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call of a model: `model(*args, **kwargs)`."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def named(self) -> dict[str, Tensor]:
        """Every tensor among the arguments, by dotted path: "0", "2.1" (in a list), "input_ids"."""
        return {**named_tensors(self.args), **named_tensors(dict(self.kwargs))}

    def map(self, fn: Callable[[Tensor], Tensor]) -> "Inputs":
        """The same arguments with `fn` applied to every tensor."""
        args, kwargs = pytree.tree_map_only(Tensor, fn, (self.args, dict(self.kwargs)))
        return Inputs(args, kwargs)


@dataclass(frozen=True)
class ModelCase:
    """One model with its inputs and loss.

    name:          unique key in `CASES`.
    build:         () -> module, float32 on the CPU; the caller seeds and casts (see `new_module`).
    inputs:        (batch, device, dtype) -> `Inputs`; floating inputs are in `dtype`.
    loss:          outputs -> 0-d tensor, differentiable.
    dynamic_dims:  input path -> dims whose extent follows `batch`.
    modes:         what the model supports; an optimiser step has no training mode.
    size:          "tiny" runs in well under a second on one CPU core; "base" is the published size.
    random:        training draws random numbers, so its results cannot be compared elementwise.
    frozen:        floating inputs that take no gradient (additive masks).
    requires:      modules that `build` imports and that may be absent.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int, torch.device, torch.dtype], Inputs]
    loss: Callable[[Any], Tensor]
    dynamic_dims: Mapping[str, tuple[int, ...]]
    modes: tuple[Mode, ...] = BOTH_MODES
    size: Size = "tiny"
    random: bool = False
    frozen: frozenset[str] = frozenset()
    requires: tuple[str, ...] = ()

    def new_module(self, device: torch.device | str, dtype: torch.dtype, seed: int = 0) -> nn.Module:
        """A freshly initialised module; the same weights on every call with the same `seed`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.build()
        return module.to(device=device, dtype=dtype)

    def step(self, call: Callable[..., Any], module: nn.Module, inputs: Inputs, training: bool) -> Any:
        """One call of `module`, or of what a compiler made of it; in training the backward pass too.

        Gives the outputs in inference, so that whoever times a step says when they are freed; else None.
        """
        if not training:
            with torch.no_grad():
                return call(*inputs.args, **inputs.kwargs)
        module.zero_grad(set_to_none=True)
        self.loss(call(*inputs.args, **inputs.kwargs)).backward()
        return None

    def unavailable(self) -> str | None:
        """Why the case cannot run here (a module is missing or broken, in one sentence), or None."""
        for module in self.requires:
            try:
                importlib.import_module(module)
            except Exception as error:  # an installation can be broken in any way; the reason is kept
                return f"{self.name} needs {module}: {type(error).__name__}: {error}"
        return None


class Draw:
    """Seeded random inputs of one case; drawn on the CPU, so equal on every device."""

    def __init__(self, device: torch.device | str, dtype: torch.dtype, seed: int = 1234) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._device = device
        self._dtype = dtype

    def normal(self, *shape: int, scale: float = 1.0, dtype: torch.dtype | None = None) -> Tensor:
        """Normal numbers of the given shape, in the case's dtype unless told."""
        values = torch.randn(shape, generator=self._generator) * scale
        return values.to(device=self._device, dtype=dtype or self._dtype)

    def integers(self, high: int, *shape: int) -> Tensor:
        """int64 in [0, high)."""
        return torch.randint(0, high, shape, generator=self._generator).to(self._device)


def named_tensors(tree: Any) -> dict[str, Tensor]:
    """The tensors of a pytree by dotted path; a bare tensor has the path ""."""
    leaves, _ = pytree.tree_flatten_with_path(tree)
    return {".".join(_step(key) for key in path): leaf for path, leaf in leaves if isinstance(leaf, Tensor)}


def _step(key: Any) -> str:
    for attribute in ("idx", "key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    raise TypeError(f"a pytree path has a step of unknown type {type(key).__name__}")


def projection_loss(outputs: Any) -> Tensor:
    """Sum of every floating output times a fixed pattern of k/8, -8 <= k <= 8.

    The pattern is exact in every floating dtype, so the cotangents that start the backward pass are the
    same numbers in the float64 reference and in a bfloat16 run; it varies, so that a permuted or
    transposed gradient cannot go unnoticed.
    """
    total = None
    for value in named_tensors(outputs).values():
        if not value.is_floating_point():
            continue
        steps = torch.arange(value.numel(), device=value.device)
        pattern = ((steps * 7919) % 17 - 8).to(value.dtype) / 8
        term = (value.reshape(-1) * pattern).sum()
        total = term if total is None else total + term
    if total is None:
        raise ValueError("projection_loss needs a floating output, the model returned none")
    return total


def loss_attribute(outputs: Any) -> Tensor:
    """The loss of a Hugging Face output that was given labels."""
    if outputs.loss is None:
        raise ValueError("the model returned no loss: its inputs hold no labels")
    return outputs.loss


def table(*groups: Iterable[ModelCase]) -> Mapping[str, ModelCase]:
    """One read-only table by name. Raises AssertionError on a name used twice."""
    cases: dict[str, ModelCase] = {}
    for group in groups:
        for case in group:
            assert case.name not in cases, f"two model cases are named {case.name!r}"
            cases[case.name] = case
    return MappingProxyType(cases)
