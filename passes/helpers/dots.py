"""A ``fuse.dot`` as a multiplication and a sum."""

from ...compiler.mlir import ir

#: From a type of operands to a wider one.
_EXTENSION = {True: "arith.extf", False: "arith.extsi"}


def expand_dot(op: ir.Operation) -> None:
    """Replaces a ``fuse.dot`` by a multiplication in the type of its result and a ``fuse.reduce``."""
    wide = op.results[0].type
    floating = isinstance(wide, ir.FloatType)
    with ir.InsertionPoint(op), op.location:
        operands = [
            v if v.type == wide else ir.Operation.create(_EXTENSION[floating], [wide], [v]).results[0]
            for v in op.operands
        ]
        product = ir.Operation.create("arith.mulf" if floating else "arith.muli", [wide], operands).results[0]
        attributes = {"kind": ir.StringAttr.get("sum"), "over": op.attributes["over"]}
        total = ir.Operation.create("fuse.reduce", [wide], [product], attributes).results[0]
    op.results[0].replace_all_uses_with(total)
    op.erase()
