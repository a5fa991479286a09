"""Rules of attributes that nothing would read: misspelled names, and values of those that have none."""

from collections.abc import Mapping

from ..ir.dialects.attributes import ATTRIBUTES
from ..ir.dialects.fuse import OPTIONAL, Fuse
from ..mlir import ext, ir
from .rules import Broken, Report

#: The attributes of each op of the dialect, in the order of its class.
_OWN = {
    op.OPERATION_NAME: (
        *(part.name for part in op._fields if isinstance(part, ext.AttributeDef)),
        *OPTIONAL.get(op.OPERATION_NAME, ()),
    )
    for op in Fuse.operations
}
#: What the bindings write: how many operands or results each name of an op has.
_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_DESCRIBED = frozenset(attribute.name for attribute in ATTRIBUTES)
#: Those that are there or not.
_FLAGS = frozenset(attribute.name for attribute in ATTRIBUTES if attribute.example == attribute.name)


def verify_attributes(func: ir.Operation, report: Report) -> None:
    """Of a function, its arguments and results, and all ops inside it."""
    for name in ("arg_attrs", "res_attrs"):
        for attributes in ir.ArrayAttr(func.attributes[name]) if name in func.attributes else ():
            named = {item.name: item.attr for item in ir.DictAttr(attributes)}
            report.check(func, check_names, func.name, named)
    _all_known(func, report)


def _all_known(op: ir.Operation, report: Report) -> None:
    report.check(op, check_names, op.name, op.attributes)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _all_known(inner.operation, report)


def check_names(op: str, attributes: "ir.OpAttributeMap | Mapping[str, ir.Attribute]") -> None:
    """Of the attributes of an op of this name.  Raises ``Broken`` for one that nothing reads."""
    own = _OWN.get(op)
    for name in attributes:
        if name.startswith("fuse."):
            if name not in _DESCRIBED:
                raise Broken(f"expected attributes of fuse that docs/dialect.md describes, got {name}")
            if name in _FLAGS and not isinstance(attributes[name], ir.UnitAttr):
                raise Broken(f"expected {name} to have no value, got {attributes[name]}")
        elif own is not None and name not in own and name not in _SEGMENTS and "." not in name:
            but = f" but {', '.join(own)}" if own else ""
            raise Broken(f"expected no attributes{but}, got {name}")
