"""Tensor types as plain Python: sizes, strides and offset as index expressions, element type, device."""

import math
from functools import cache, cached_property

from ..base.dataclass import dataclass
from ..index import Expr, const, contiguous_strides, parse
from ..mlir import ir
from .dialects import fuse

#: Element types by their MLIR spelling: bytes of one element in memory.
ELEMENT_BYTES: dict[str, int] = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8E4M3FN": 1, "f8E5M2": 1,
    "i64": 8, "i32": 4, "i16": 2, "i8": 1, "ui64": 8, "ui32": 4, "ui16": 2, "ui8": 1, "i1": 1,
    "complex<f32>": 8, "complex<f64>": 16,
}  # fmt: skip


def memory_element(element: str) -> str:
    """The element type that a pointer to a tensor has: ``i1`` is stored as a byte, and unsigned integers
    become signless.
    """
    if element == "i1":
        return "i8"
    return element.removeprefix("u") if element.startswith("ui") else element


@dataclass(frozen=True)
class TensorSpec:
    """The layout of a tensor: shape, strides, offset, element type, device.  ``device`` None means the
    module's ``fuse.device``.  Strides and offset are in elements of its root's storage.
    """

    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr
    element: str
    device: str | None = None

    @staticmethod
    def contiguous(sizes: tuple[Expr, ...], element: str, device: str | None = None) -> "TensorSpec":
        """Row-major at offset 0."""
        return TensorSpec(sizes, contiguous_strides(sizes), const(0), element, device)

    @cached_property
    def _hash(self) -> int:
        return hash((self.sizes, self.strides, self.offset, self.element, self.device))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):  # without what is cached: another process hashes strings in another way
        return TensorSpec, (self.sizes, self.strides, self.offset, self.element, self.device)

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @cached_property
    def is_static(self) -> bool:
        return all(e.is_constant for e in (*self.sizes, *self.strides, self.offset))

    @cached_property
    def is_row_major(self) -> bool:
        """Whether it is row-major, at any offset.  Strides of dims of size 1 do not count."""
        pairs = zip(self.sizes, self.strides, contiguous_strides(self.sizes), strict=True)
        return all(size.constant == 1 or a == b for size, a, b in pairs)

    @property
    def is_contiguous(self) -> bool:
        """Whether it is row-major at offset 0."""
        return self.offset.constant == 0 and self.is_row_major

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols that sizes, strides and offset use, sorted."""
        return tuple(sorted(set().union(*(e.symbols() for e in (*self.sizes, *self.strides, self.offset)))))

    @cached_property
    def numel(self) -> Expr:
        """Number of elements."""
        return math.prod(self.sizes, start=const(1))

    @cached_property
    def storage_elements(self) -> Expr:
        """Elements from the start of the storage to the end of the last element (for sizes >= 1)."""
        last = self.offset
        for size, stride in zip(self.sizes, self.strides, strict=True):
            last = last + (size - 1) * stride
        return last + 1

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.element]

    def type(self) -> ir.RankedTensorType:
        """The MLIR type, in the current context; without an encoding where shape and element type suffice."""
        shape = [s.constant if s.is_constant else ir.ShapedType.get_dynamic_size() for s in self.sizes]
        encoding = None
        plain = self.device is None and all(s.is_constant for s in self.sizes)
        if not (plain and self.offset.constant == 0 and self.strides == contiguous_strides(self.sizes)):
            encoding = fuse.Layout.get(
                ir.StringAttr.get(",".join(map(str, self.sizes))),
                ir.StringAttr.get(",".join(map(str, self.strides))),
                ir.StringAttr.get(str(self.offset)),
                ir.StringAttr.get(self.device or ""),
            )
        return ir.RankedTensorType.get(
            shape, ir.Type.parse(self.element), encoding, loc=ir.Location.unknown()
        )

    @staticmethod
    def of(type_: ir.Type) -> "TensorSpec":
        """The spec of a ranked tensor type.  Raises ValueError where the encoding and the shape disagree."""
        text = str(type_)
        if text not in _SPECS:
            _SPECS[text] = _read(type_)
        return _SPECS[text]


_SPECS: dict[str, TensorSpec] = {}


def _read(type_: ir.Type) -> TensorSpec:
    tensor = ir.RankedTensorType(type_)
    element = str(tensor.element_type)
    encoding = tensor.encoding
    if encoding is None:
        if not tensor.has_static_shape:
            raise ValueError(f"a dynamic size needs a #fuse.layout encoding: {type_}")
        return TensorSpec.contiguous(tuple(const(n) for n in tensor.shape), element)
    if not isinstance(encoding, fuse.Layout):
        raise ValueError(f"the encoding of a tensor is a #fuse.layout, not {encoding}")
    sizes, strides, offset, device = (ir.StringAttr(p).value for p in encoding.params)
    spec = TensorSpec(_expressions(sizes), _expressions(strides), parse(offset), element, device or None)
    if not (len(spec.sizes) == len(spec.strides) == tensor.rank):
        raise ValueError(
            f"the layout has {len(spec.sizes)} sizes and {len(spec.strides)} strides, "
            f"the type has rank {tensor.rank}: {type_}"
        )
    for axis, size in enumerate(spec.sizes):
        static = None if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis)
        if size.constant != static:
            raise ValueError(
                f"dim {axis} is {'dynamic' if static is None else static} in the type "
                f"and {size} in the layout: {type_}"
            )
    return spec


@cache
def _expressions(text: str) -> tuple[Expr, ...]:
    return tuple(parse(part) for part in text.split(",")) if text else ()
