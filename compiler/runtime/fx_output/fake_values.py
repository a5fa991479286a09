"""``meta["val"]`` of FX nodes: fake tensors and symbolic numbers, from the types that a plan has for its
variables.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from ...index import Expr
from ..plans.steps import TensorType, Type
from ..torch_types import TORCH_DTYPES


class FakeValues:
    """The fake values of one program."""

    def __init__(self) -> None:
        self.sizes = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.sizes, allow_non_fake_inputs=True)

    def argument(self, name: str, hint: int) -> Any:
        """A number that the caller gives, ``hint`` for instance."""
        source = ConstantSource(name)
        symbol = self.sizes.create_unspecified_symbol(hint, source, dynamic_dim=DimDynamic.DYNAMIC)
        return self.sizes.create_symintnode(symbol, hint=hint, source=source)

    def number(self, type_: Type) -> Any:
        """A number that is known when the program runs."""
        if type_ == "i1":
            return self.sizes.create_unbacked_symbool()
        if type_ in ("f32", "f64"):
            return self.sizes.create_unbacked_symfloat()
        return self.sizes.create_unbacked_symint()

    def tensor(self, type_: TensorType, sizes: Mapping[str, Any]) -> Any:
        """A tensor in storage of its own; a size that nothing gave yet is entered into ``sizes``."""
        shape, strides = ([self.size(e, sizes) for e in part] for part in (type_.sizes, type_.strides))
        with self.mode:
            return torch.empty_strided(
                shape, strides, dtype=TORCH_DTYPES[type_.element], device=torch.device(type_.device)
            )

    def size(self, expression: Expr, sizes: Mapping[str, Any]) -> Any:
        """An index expression as a number."""
        return expression.evaluate(_Known(self, sizes))


class _Known(dict[str, Any]):
    """The sizes that are known, those that are not yet as new ones."""

    def __init__(self, values: FakeValues, sizes: Mapping[str, Any]) -> None:
        super().__init__(sizes)
        self.values_, self.sizes = values, sizes

    def __missing__(self, name: str) -> Any:
        value = self.values_.number("index")
        self[name] = self.sizes[name] = value  # type: ignore[index]
        return value
