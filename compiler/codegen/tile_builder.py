"""Emits tile ops at MLIR's current insertion point and makes their shapes agree.  Splats and broadcasts are
emitted here only.

A *tile value* is a scalar or a ranked tensor of the kernel's full tile rank, with extent 1 along the axes
that the value does not depend on. Shapes are tuples of extents, ``()`` for a scalar.
"""

import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..ir.defining import defining_op, is_true
from ..ir.dialects import tt
from ..ir.dialects.tt_text import mirror_name
from ..mlir import arith, ir
from . import nvidia
from .tile_bounds import splat_integer

Shape = tuple[int, ...]

#: ``predicate`` of arith.cmpi and arith.cmpf by name.
CMPI = {n: i for i, n in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))}
_FLOAT_PREDICATES = (
    ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord")
    + ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
)  # fmt: skip
CMPF = {n: i for i, n in enumerate(_FLOAT_PREDICATES)}


def shape_of(value: ir.Value) -> Shape:
    """The extents of a tile value."""
    return tuple(tt.shape_of(value.type))


def joined(shapes: Sequence[Shape]) -> Shape:
    """The shape that all of ``shapes`` broadcast to.  Raises ValueError where two extents disagree."""
    ranked = [s for s in shapes if s]
    if not ranked:
        return ()
    result = []
    for extents in zip(*ranked, strict=True):
        widest = max(extents)
        if any(e not in (1, widest) for e in extents):
            raise ValueError(f"tile shapes {ranked} do not broadcast together")
        result.append(widest)
    return tuple(result)


def is_float(type_: ir.Type) -> bool:
    """Whether a scalar type is a float."""
    return isinstance(type_, ir.FloatType)


def shifted_bits(value: ir.Value) -> tuple[ir.Value, int, int]:
    """(x, shift, mask) of a tile of bytes or of 32-bit words that is ``x >> shift & mask``, unsigned, such as
    one half of the bytes of weights of 4 bits; Triton would shift each byte in a register of its own.
    """
    width = ir.IntegerType(tt.element_of(value.type)).width
    full, shift = 2**width - 1, 0
    mask = full
    for kind in (arith.AndIOp, arith.ShRUIOp, arith.ShRSIOp):
        op = defining_op(value, kind)
        number = None if op is None else splat_integer(op.operands[1])
        if op is None or number is None or shift:
            continue
        if kind is arith.AndIOp:
            value, mask = op.operands[0], number & full
        elif 0 <= number < width and (kind is arith.ShRUIOp or mask <= full >> number):
            value, shift = op.operands[0], number
    return value, shift, mask & full >> shift


def bits_of(
    value: ir.Value, signed: bool, element: str, pairs: bool = False
) -> tuple[ir.Value, nvidia.BitsText] | None:
    """What a tile of integers is some bits of, i8 or i32, and the PTX that makes them ``element``; None of
    other integers, and where the type does not hold them.  ``pairs``: of bytes, that of ``BytesText``.
    """
    integer = str(tt.element_of(value.type))
    if integer not in ("i8", "i32") or not shape_of(value) or element not in nvidia.TYPES_OF_BITS:
        return None
    source, shift, mask = shifted_bits(value)
    how = (
        nvidia.BytesText(signed, 0, shift, mask, element, pairs and element != "f32")
        if integer == "i8"
        else nvidia.WordsText(0, shift, mask, element)
    )
    return (source, how) if how.exact else None


def bits_in_table(value: ir.Value, entries: int, element: str) -> tuple[ir.Value, nvidia.TableText] | None:
    """What a tile of indices of a table is some bits of, i8 or i32, and the PTX that looks them up; None of
    other indices, and of a table that has not an entry for each value of these bits, or too many.
    """
    for kind in (arith.TruncIOp, arith.ExtUIOp):  # an index below 32 is kept by both
        made = defining_op(value, kind)
        value = value if made is None else made.operands[0]
    integer = str(tt.element_of(value.type))
    if integer not in ("i8", "i32") or not shape_of(value) or element not in nvidia.TYPES_OF_BITS:
        return None
    source, shift, mask = shifted_bits(value)
    names = mask + 1
    if not 2 <= names <= min(entries, nvidia.LANES) or names & mask:
        return None
    return source, nvidia.TableText(shift, names, element, integer == "i32")


class TileBuilder:
    """Builds tile ops.  ``scope`` brackets a region: values remembered inside it are forgotten at its end.
    ``distinct``: PTX that is emitted now is not merged with equal PTX, nor moved.  ``of_bf16``: what is
    coarse is rounded to bfloat16, and computed for each score of a product.  ``in_pairs``: a thread has two
    neighbours of the tiles that are built now (``nvidia.BytesText``).
    """

    def __init__(self, coarse: Collection[ir.Value] = (), beside_one: Collection[ir.Value] = ()) -> None:
        """``coarse``: scalar results that are rounded to 16 bits or fewer.  ``beside_one``: those whose error
        only needs to be small relative to 1 (``analysis/kernel/precision.py``).
        """
        self._memo: list[dict] = [{}]
        self.coarse, self.beside_one = coarse, beside_one
        self.distinct = self.of_bf16 = self.in_pairs = False

    # --- scopes -------------------------------------------------------------------------------------------
    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values remembered inside are forgotten at the end of the region that they were emitted in."""
        self._memo.append({})
        try:
            yield
        finally:
            self._memo.pop()

    @property
    def nested(self) -> bool:
        """Whether the insertion point lies inside a region, such as a loop's."""
        return len(self._memo) > 1

    def recall(self, key: object) -> ir.Value | None:
        """A value remembered in this scope or one around it."""
        for memo in reversed(self._memo):
            if key in memo:
                return memo[key]
        return None

    def remember(self, key: object, value: ir.Value) -> ir.Value:
        """Keeps ``value`` for this scope."""
        self._memo[-1][key] = value
        return value

    # --- types and raw ops --------------------------------------------------------------------------------
    @staticmethod
    def type(text: str) -> ir.Type:
        """A type by its MLIR spelling."""
        return ir.Type.parse(text)

    @staticmethod
    def attribute(value: int, bits: int = 32) -> ir.IntegerAttr:
        """A signless integer attribute."""
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)

    @staticmethod
    def create(
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Creates one op, without adapting shapes."""
        return ir.Operation.create(
            name,
            results=list(results),
            operands=list(operands),
            attributes=dict(attributes or {}),
            regions=regions,
        )

    # --- constants ----------------------------------------------------------------------------------------
    def constant(self, value: int | float, element: ir.Type | str, shape: Shape = ()) -> ir.Value:
        """``value`` in every element."""
        element = ir.Type.parse(element) if isinstance(element, str) else element
        bits = struct.pack("<d", value) if is_float(element) else value
        key = ("constant", bits, str(element), shape)
        found = self.recall(key)
        if found is not None:
            return found
        attribute: ir.Attribute
        if is_float(element):
            attribute = ir.FloatAttr.get(element, value)
        else:
            attribute = ir.IntegerAttr.get(element, value)
        return self.remember(key, self.constant_of(attribute, shape))

    def constant_of(self, attribute: ir.Attribute, shape: Shape = ()) -> ir.Value:
        """A constant, from a scalar attribute."""
        type_ = tt.tile_type(shape, attribute.type)
        if shape:
            attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
        return self.create("arith.constant", [type_], [], {"value": attribute}).results[0]

    # --- shapes -------------------------------------------------------------------------------------------
    def to(self, value: ir.Value, shape: Shape) -> ir.Value:
        """``value`` splat or broadcast to ``shape``."""
        have = shape_of(value)
        if have == shape:
            return value
        key = ("to", value, shape)
        found = self.recall(key)
        if found is not None:
            return found
        element = tt.element_of(value.type)
        constant = _constant(value)
        if constant is not None:
            return self.remember(key, self.constant_of(constant, shape))
        name = "tt.broadcast" if have else "tt.splat"
        return self.remember(key, self.create(name, [tt.tile_type(shape, element)], [value]).results[0])

    def spread(self, value: ir.Value, shape: Shape) -> ir.Value:
        """A vector, reshaped to a tile of ``shape``, which has one extent above 1."""
        element = tt.element_of(value.type)
        have = list(shape_of(value))
        assert len(have) == 1
        along = shape.index(have[0]) if have[0] > 1 else 0
        for position in range(len(shape)):
            if position != along:
                have.insert(position, 1)
                value = self.create(
                    "tt.expand_dims",
                    [tt.tile_type(have, element)],
                    [value],
                    {"axis": self.attribute(position)},
                ).results[0]
        return value

    def alike(self, *values: ir.Value) -> list[ir.Value]:
        """The values, broadcast to their joined shape."""
        shape = joined([shape_of(v) for v in values])
        return [self.to(v, shape) for v in values]

    def join(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Joins two tiles along a new last axis."""
        type_ = tt.tile_type([*shape_of(a), 2], tt.element_of(a.type))
        return self.create("tt.join", [type_], [a, b]).results[0]

    def split(self, value: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Splits a tile along its last axis, of extent 2."""
        type_ = tt.tile_type(shape_of(value)[:-1], tt.element_of(value.type))
        first, second = self.create("tt.split", [type_, type_], [value]).results
        return first, second

    def trans(self, value: ir.Value, order: Sequence[int]) -> ir.Value:
        """A tile with its axes in another order: the first one of the result is axis ``order[0]``."""
        shape = shape_of(value)
        type_ = tt.tile_type([shape[i] for i in order], tt.element_of(value.type))
        attributes = {"order": ir.DenseI32ArrayAttr.get(list(order))}
        return self.create("tt.trans", [type_], [value], attributes).results[0]

    # --- elementwise --------------------------------------------------------------------------------------
    def elementwise(
        self,
        name: str,
        operands: Sequence[ir.Value],
        element: ir.Type | None = None,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """One elementwise op with a result of ``element`` (by default the first operand's)."""
        operands = self.alike(*operands)
        element = tt.element_of(operands[0].type) if element is None else element
        result = tt.tile_type(shape_of(operands[0]), element)
        return self.create(name, [result], operands, attributes).results[0]

    def cast(
        self,
        name: str,
        value: ir.Value,
        element: str | ir.Type,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """A conversion; ``value`` itself when it has the type already."""
        element = ir.Type.parse(element) if isinstance(element, str) else element
        if tt.element_of(value.type) == element:
            return value
        return self.elementwise(name, [value], element, attributes)

    def rounded(self, value: ir.Value) -> ir.Value:
        """A tile of f32 rounded to bf16 and widened to f32 again."""
        return self._packed([value], nvidia.ROUNDED_TEXT, nvidia.ROUNDED_CONSTRAINTS)

    def widened(self, value: ir.Value) -> ir.Value:
        """A tile of bf16, widened to f32."""
        return self._packed([value], nvidia.WIDENED_TEXT, nvidia.WIDENED_CONSTRAINTS)

    def tanh_of_bf16(self, value: ir.Value) -> ir.Value:
        """tanh of a tile of f32, as exact as bf16 needs."""
        return self._packed([value], nvidia.TANH_TEXT, nvidia.TANH_CONSTRAINTS, 1)

    def opaque(self, value: ir.Value) -> ir.Value:
        """The same number, of i32, of which LLVM knows nothing."""
        return self._packed([value], nvidia.OPAQUE_TEXT, nvidia.OPAQUE_CONSTRAINTS, 1, value.type)

    def of_bits(self, value: ir.Value, signed: bool, element: str = "f32") -> ir.Value | None:
        """A tile of i8, or of a few bits of i32, converted to ``element``; None of other integers, and where
        the type does not hold them."""
        found = bits_of(value, signed, element, self.in_pairs)
        return None if found is None else self.of_packed(*found)

    def of_packed(self, value: ir.Value, how: nvidia.BitsText, less: ir.Value | None = None) -> ir.Value:
        """A tile of i8 or i32, converted to floats; ``less``: where ``how`` takes that from a tile."""
        if self.in_pairs and isinstance(how, nvidia.BytesText) and how.element != "f32":
            how = replace(how, pairs=True)
        values = [value] if less is None else self.alike(value, less)
        return self._packed(values, how.text, how.constraints, how.count, self.type(how.element))

    def looked_up(self, table: ir.Value, value: ir.Value, how: nvidia.TableText) -> ir.Value:
        """A tile of i8 or i32 as numbers of the table at an address."""
        if self.in_pairs and not how.words:
            how = replace(how, at_once=2)
        values = [self.to(table, shape_of(value)), value]
        return self._packed(values, how.text, how.constraints, how.count, self.type(how.element))

    def _packed(
        self,
        values: Sequence[ir.Value],
        text: str,
        constraints: str,
        count: int = 2,
        element: ir.Type | None = None,
    ) -> ir.Value:
        """Applies PTX that works on ``count`` elements at once; the result is f32, or ``element``."""
        return self.create(
            mirror_name("tt.elementwise_inline_asm", len(values)),
            [tt.tile_type(shape_of(values[0]), element or ir.F32Type.get())],
            values,
            {
                "asm_string": ir.StringAttr.get(text),
                "constraints": ir.StringAttr.get(constraints),
                "packed_element": self.attribute(count),
                "pure": ir.BoolAttr.get(not self.distinct),
            },
        ).results[0]

    def extern(self, symbol: str, operands: Sequence[ir.Value], element: ir.Type | None = None) -> ir.Value:
        """Calls a function of libdevice, or an intrinsic of LLVM."""
        empty = ir.StringAttr.get("")
        attributes = {
            "libname": empty,
            "libpath": empty,
            "symbol": ir.StringAttr.get(symbol),
            "pure": ir.BoolAttr.get(True),
        }
        return self.elementwise("tt.extern_elementwise", operands, element, attributes)

    def cmpi(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Integer comparison by predicate name (``slt``)."""
        return self.elementwise(
            "arith.cmpi",
            [a, b],
            ir.IntegerType.get_signless(1),
            {"predicate": self.attribute(CMPI[predicate], 64)},
        )

    def cmpf(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Float comparison by predicate name (``olt``)."""
        return self.elementwise(
            "arith.cmpf",
            [a, b],
            ir.IntegerType.get_signless(1),
            {"predicate": self.attribute(CMPF[predicate], 64)},
        )

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a`` where ``condition`` is true, else ``b``."""
        condition, a, b = self.alike(condition, a, b)
        return self.create("arith.select", [a.type], [condition, a, b]).results[0]

    def both(self, a: ir.Value | None, b: ir.Value | None) -> ir.Value | None:
        """The conjunction of two masks; None stands for a mask that is always true."""
        if a is None or is_true(a):
            return None if b is not None and is_true(b) else b
        if b is None or is_true(b):
            return a
        key = ("both", a, b)
        return self.recall(key) or self.remember(key, self.elementwise("arith.andi", [a, b]))

    def fill(self, value: int | float, like: ir.Value) -> ir.Value:
        """``value`` with the type of ``like``."""
        return self.constant(value, tt.element_of(like.type), shape_of(like))

    # --- memory -------------------------------------------------------------------------------------------
    def load(
        self,
        pointer: ir.Value,
        mask: ir.Value | None,
        other: ir.Value | None,
        evict: str = "normal",
        volatile: bool = False,
    ) -> ir.Value:
        """Reads ``pointer`` where ``mask`` is true, else gives ``other``; both broadcast to the pointer's
        shape.  ``evict`` is the policy of the cache lines: ``normal``, ``first`` or ``last``.  ``volatile``:
        the load stays where it is.
        """
        shape = shape_of(pointer)
        mask = None if mask is None else self.to(mask, shape)
        other = None if other is None or mask is None else self.to(other, shape)
        op = tt.Load(pointer, mask, other, tt.tile_type(shape, tt.pointee_of(pointer.type)))
        if evict != "normal":
            op.attributes["evict"] = self.attribute(tt.EVICT[evict])
        if volatile:
            op.attributes["isVolatile"] = ir.BoolAttr.get(True)
        return op.result

    def store(self, pointer: ir.Value, value: ir.Value, mask: ir.Value | None, evict: str = "normal") -> None:
        """Writes where ``mask`` is true; ``evict`` as in ``load``."""
        shape = shape_of(pointer)
        op = tt.Store(pointer, self.to(value, shape), None if mask is None else self.to(mask, shape))
        if evict != "normal":
            op.attributes["evict"] = self.attribute(tt.EVICT[evict])

    # --- regions ------------------------------------------------------------------------------------------
    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Emits at the end of ``block`` in a scope of its own."""
        with self.scope(), ir.InsertionPoint(block):
            yield


def exact_inverse(value: ir.Value) -> float | None:
    """1 / ``value`` where ``value`` is a scalar constant and a power of two, else None.  A product with it
    equals the quotient bit by bit.
    """
    constant = ordinary_constant(value)
    return None if constant is None or abs(math.frexp(constant)[0]) != 0.5 else 1.0 / constant


def ordinary_constant(value: ir.Value) -> float | None:
    """The number of a scalar constant, if it is far from both ends of float32's range; else None."""
    constant = _constant(value)
    if not isinstance(constant, ir.FloatAttr) or not 2.0**-100 <= abs(constant.value) <= 2.0**100:
        return None
    return constant.value


def _constant(value: ir.Value) -> ir.Attribute | None:
    """The attribute of a scalar constant."""
    if not isinstance(value.owner, ir.Operation | ir.OpView) or isinstance(value.type, ir.RankedTensorType):
        return None
    owner = value.owner
    return owner.attributes["value"] if isinstance(owner, arith.ConstantOp) else None
