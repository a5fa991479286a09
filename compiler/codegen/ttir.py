"""Prints a ``tt.func`` of the mirror as TTIR that Triton's own parser accepts (generic form, explicit
locations).

The mirror (the dialects ``tt`` and others, defined in Python) spells a few ops differently, because ops
defined in Python have a fixed arity and names without dots.  Nothing else is changed here.  Versions of
Triton differ in spelling only; ``compiler/runtime/kernels/triton_version.py`` rewrites those when the text is
handed over.
"""

import re

from ..mlir import ir

#: Mirror op -> Triton op.
_RENAMED = {
    "tt.reduce_2": "tt.reduce",
    "tt.reduce_3": "tt.reduce",
    "tt.reduce_return": "tt.reduce.return",
    "tt.reduce_return_2": "tt.reduce.return",
    "tt.reduce_return_3": "tt.reduce.return",
    "tt.scan_return": "tt.scan.return",
}
_RENAME = re.compile('"(' + "|".join(sorted(map(re.escape, _RENAMED), key=len, reverse=True)) + r')"\(')


def ttir_text(function: ir.Operation) -> str:
    """A module with ``function`` (a ``tt.func``) alone, as text.  Byte-identical for the same function:
    values and locations are numbered from the start of the text, whatever else its module holds.
    """
    alone = ir.Module.create(loc=ir.Location.unknown(function.context))
    alone.body.append(function.clone(ip=False))
    text = alone.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return _RENAME.sub(lambda m: f'"{_RENAMED[m[1]]}"(', text)
