"""Types of the mirror of Triton's dialect: pointers, and tiles of elements."""

from collections.abc import Sequence

from ...mlir import ext, ir


def shape_of(type_: ir.Type) -> list[int]:
    """The extents of a tile type; a scalar has none."""
    return list(ir.RankedTensorType(type_).shape) if isinstance(type_, ir.RankedTensorType) else []


def element_of(type_: ir.Type) -> ir.Type:
    """The element type of a tile, or the scalar type itself."""
    return ir.RankedTensorType(type_).element_type if isinstance(type_, ir.RankedTensorType) else type_


def tile_type(shape: Sequence[int], element: ir.Type) -> ir.Type:
    """A tile of ``element``; the element type itself for an empty shape."""
    return ir.RankedTensorType.get(list(shape), element) if shape else element


class TT(ext.Dialect, name="tt"):
    """Namespace of the mirror; ``register`` loads it."""


class Ptr(TT.Type, name="ptr"):
    """Address of an element in global memory."""

    pointee: ir.TypeAttr


class Descriptor(TT.Type, name="tensordesc"):
    """A tensor of global memory as tiles: ``!tt.tensordesc<tensor<64x64xf16>>``."""

    block: ir.TypeAttr


def block_of(type_: ir.Type) -> ir.RankedTensorType | None:
    """The type of a descriptor's tiles; None for another type."""
    return ir.RankedTensorType(ir.TypeAttr(type_.params[0]).value) if isinstance(type_, Descriptor) else None


def pointee_of(type_: ir.Type) -> ir.Type | None:
    """The element type of a pointer or of a tile of pointers; None for another type."""
    element = element_of(type_)
    return ir.TypeAttr(element.params[0]).value if isinstance(element, Ptr) else None
