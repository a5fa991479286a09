"""Prints a ``tt.func`` of the mirror as TTIR that Triton's own parser accepts (generic form, explicit
locations).

The mirror spells a few ops differently (``ir/dialects/tt_text.py``).  Nothing else is changed here.  Versions
of Triton differ in spelling only; ``compiler/runtime/kernels/triton_version.py`` rewrites those when the text
is handed over.
"""

from ..ir.dialects.tt_text import of_triton
from ..ir.kernel import INDEX_CHECK
from ..mlir import ir


def _without_marks(op: ir.Operation) -> ir.WalkResult:
    """Removes what only the interpreter reads."""
    if INDEX_CHECK in op.attributes:
        del op.attributes[INDEX_CHECK]
    return ir.WalkResult.ADVANCE


def ttir_text(function: ir.Operation) -> str:
    """A module with ``function`` (a ``tt.func``) alone, as text.  Byte-identical for the same function:
    values and locations are numbered from the start of the text, whatever else its module holds.
    """
    alone = ir.Module.create(loc=ir.Location.unknown(function.context))
    alone.body.append(function.clone(ip=False))
    alone.operation.walk(_without_marks)
    text = alone.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return of_triton(text)
