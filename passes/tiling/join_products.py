"""``join-products``: weights whose two numbers of a byte are multiplied apart lie side by side again."""

from dataclasses import replace
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.nvidia import BytesText, TableText
from ...compiler.codegen.products.halves import HalfText
from ...compiler.codegen.tile_bounds import splat_constant
from ...compiler.codegen.tile_builder import TileBuilder, shape_of
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import is_kernel, is_tiled, string
from ...compiler.mlir import arith, ir
from ..pass_base import Numerics, Pass

#: Ops on each element of a tile, through which Triton follows a layout.
_ASSEMBLY = (tt.ElementwiseInlineAsm, tt.ElementwiseInlineAsm2)
#: How a product is added up.
_PRECISION = ("inputPrecision", "maxNumImpreciseAcc")
#: PTX, the registers that it writes and reads, and how many elements it takes at once.
_Text = tuple[str, str, int]


@dataclass(frozen=True)
class JoinProducts(Pass):
    """Two products of the two numbers of a byte with the two halves of a tile of rows become one product of
    both numbers, side by side, with the tile.

    Before, of 128 rows of weights in a kernel with a multiple of four warps::

        %b = "tt.load"(..) -> tensor<128x64xi8>
        %w0 = "tt.elementwise_inline_asm"(%b) {..} -> tensor<128x64xbf16>     // the lower halves
        %w1 = "tt.elementwise_inline_asm"(%b) {..} -> tensor<128x64xbf16>     // the upper ones
        %x = "tt.load"(..) -> tensor<128x32xbf16>
        %x0, %x1 = "tt.split"(%turned) -> ..    // rows 0, 2, .. and 1, 3, .. of %x
        %p0 = "tt.dot"(%w0, %x0, %zero)
        %p1 = "tt.dot"(%w1, %x1, %zero)
        %p = arith.addf %p0, %p1

    After::

        %both = "tt.join"(%w0, %w1) -> tensor<128x64x2xbf16>
        %w = "tt.reshape"(%both) -> tensor<128x128xbf16>
        %p = "tt.dot"(%w, %x, %zero)

    Hopper's products (``wgmma``) take the left factor from registers and the right one from shared memory.  A
    right factor that is split is read, taken apart and stored there again in each step.  A thread makes both
    numbers of a byte, which are neighbours of the joined factor: nothing else moves.

    Remark: ``passed: joined``.

    Does not fire where bytes are not taken in pairs (``nvidia.BytesText``): on fewer than 64 rows of weights,
    on a batch of products, or with fewer than four warps, which other instructions multiply.  Nor where the
    factors are made of more than one tile of bytes, of more than two numbers of a byte, or of numbers of a
    table in 16 bits; or where something else reads a product.
    """

    name: ClassVar[str] = "join-products"
    numerics: ClassVar[Numerics] = "reassociates"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for op in module.body.operations:
            if not (is_kernel(op) and is_tiled(op)):
                continue
            found: list[ir.Operation] = []
            op.operation.walk(lambda inner, found=found: _keep(inner.operation, found))
            joined = [_join(split) for split in found]
            if any(joined):
                name = string(op.attributes["sym_name"])
                message = f"@{name} multiplies both numbers of a byte at once"
                remarks.add(
                    self.name, "passed", "joined", message, ops=(name,), locations=(str(op.location),)
                )


def _keep(op: ir.Operation, found: list[ir.Operation]) -> ir.WalkResult:
    if isinstance(op.opview, tt.Split):
        found.append(op)
    return ir.WalkResult.ADVANCE


def _join(split: ir.Operation) -> bool:
    """Joins the products with the two halves of a tile, where they are such as the pass says."""
    whole, dots = _whole(split), [_reader(half) for half in split.results]
    if whole is None or not all(dot is not None and isinstance(dot.opview, tt.Dot) for dot in dots):
        return False
    first, second = (dot for dot in dots if dot is not None)
    if any(dot.operands[1] != half for dot, half in zip((first, second), split.results, strict=True)):
        return False
    factors = [dot.operands[0] for dot in (first, second)]
    shape = shape_of(factors[0])
    alike = {tuple(str(dot.attributes[name]) for name in _PRECISION) for dot in (first, second)}
    zero = all(splat_constant(dot.operands[2]) == 0 for dot in (first, second))
    if len(shape) != 2 or len(alike) > 1 or not zero:
        return False
    sources = [_sources(factor) for factor in factors]
    if sources[0] is None or sources[1] is None or sources[0][0] != sources[1][0]:
        return False
    texts = _texts(sources[0][1], sources[1][1])
    total = _total(first, second)
    if texts is None or total is None:
        return False
    for assembly, (text, constraints, count) in zip((sources[0][1], sources[1][1]), texts, strict=True):
        assembly.attributes["asm_string"] = ir.StringAttr.get(text)
        assembly.attributes["constraints"] = ir.StringAttr.get(constraints)
        assembly.attributes["packed_element"] = TileBuilder().attribute(count)
    builder = TileBuilder()
    with ir.InsertionPoint(total), second.location:
        both = builder.join(*factors)
        rows, columns = shape
        wide = tt.tile_type([rows, 2 * columns], tt.element_of(factors[0].type))
        left = builder.create("tt.reshape", [wide], [both]).results[0]
        attributes = {name: second.attributes[name] for name in _PRECISION}
        operands = [left, whole, second.operands[2]]
        [product] = builder.create("tt.dot", [second.results[0].type], operands, attributes).results
    before = _before(total, first, second)
    if before is None:
        total.results[0].replace_all_uses_with(product)
        total.erase()
    else:
        total.operands[0], total.operands[1] = before, product
    return True


def _whole(split: ir.Operation) -> ir.Value | None:
    """The tile whose even and odd rows a split has; None of other splits."""
    turned = defining_op(split.operands[0], tt.Trans)
    apart = None if turned is None else defining_op(turned.operands[0], tt.Reshape)
    if turned is None or apart is None or [*turned.attributes["order"]] != [0, 2, 1]:
        return None
    source = apart.operands[0]
    shape, made = shape_of(source), shape_of(apart.results[0])
    return source if len(shape) == 2 and made == (shape[0] // 2, 2, shape[1]) else None


def _reader(value: ir.Value) -> ir.Operation | None:
    """The one op that reads a value, and whose result is read; None where there are others."""
    users = list(dict.fromkeys(use.owner.operation for use in value.uses))
    read = [op for op in users if not op.results or any(True for r in op.results for _ in r.uses)]
    return read[0] if len(read) == 1 else None


def _total(first: ir.Operation, second: ir.Operation) -> ir.Operation | None:
    """The addition behind which both products are in a sum: of the two, or of the second to a sum that the
    first was added to; None where something else reads them."""
    readers = [_reader(dot.results[0]) for dot in (first, second)]
    if any(reader is None or not isinstance(reader.opview, arith.AddFOp) for reader in readers):
        return None
    one, two = readers
    assert one is not None and two is not None
    if one == two or (_reader(one.results[0]) == two and one.results[0] in [*two.operands]):
        return two
    return None


def _before(total: ir.Operation, first: ir.Operation, second: ir.Operation) -> ir.Value | None:
    """What the products are added to one after the other; None where they are added to each other."""
    values = [v for v in total.operands if v != second.results[0]]
    if values == [first.results[0]]:
        return None
    added = defining_op(values[0], arith.AddFOp)
    assert added is not None
    [before] = [v for v in added.operands if v != first.results[0]]
    return before


def _sources(factor: ir.Value) -> tuple[ir.Operation, ir.Operation] | None:
    """The load of bytes that a factor is made of, element by element, and the PTX that makes numbers of them;
    None where there is not one of each."""
    shape, loads, assembly = shape_of(factor), list[ir.Operation](), list[ir.Operation]()
    seen, pending = set[ir.Value](), [factor]
    while pending:
        value = pending.pop()
        if value in seen or shape_of(value) != shape:
            continue
        seen.add(value)
        op = value.owner
        if isinstance(op, ir.Block):
            return None
        op = op.operation
        if isinstance(op.opview, tt.Load):
            loads.append(op)
        elif isinstance(op.opview, _ASSEMBLY):
            assembly.append(op)
            pending.append(list(op.operands)[-1])
        elif op.name.startswith("arith."):
            pending += op.operands
        elif not isinstance(op.opview, (tt.Broadcast, tt.Splat)):
            return None
    one = len(loads) == len(assembly) == 1 and str(tt.element_of(loads[0].results[0].type)) == "i8"
    return (loads[0], assembly[0]) if one else None


def _texts(first: ir.Operation, second: ir.Operation) -> tuple[_Text, _Text] | None:
    """The PTX of numbers side by side for that of two apart; None for any other."""
    texts = [string(op.attributes["asm_string"]) for op in (first, second)]
    bits = [BytesText.read(text) for text in texts]
    if bits[0] is not None and bits[1] is not None:
        halves = HalfText.pair(bits[0], bits[1])
        return None if halves is None else (_of(halves[0]), _of(halves[1]))
    tables = [TableText.read(text) for text in texts]
    if tables[0] is None or tables[1] is None:
        return None
    one, two = _alone(tables[0]), _alone(tables[1])
    return None if one is None or two is None else (_of(one), _of(two))


def _of(how: HalfText | TableText) -> _Text:
    return how.text, how.constraints, how.count


def _alone(table: TableText) -> TableText | None:
    """The same PTX for one byte at once; None for that of other tables than of f32, and of words."""
    return replace(table, at_once=1) if table.element == "f32" and table.at_once == 2 else None
