"""Prints a ``tt.func`` of the mirror as TTIR that Triton's own parser accepts (generic form, explicit
locations).

The mirror spells a few ops differently (``ir/dialects/tt_text.py``).  Nothing else is changed here.  Versions
of Triton differ in spelling only; ``compiler/runtime/kernels/triton_version.py`` rewrites those when the text
is handed over.
"""

from ..ir.dialects.tt_text import of_triton
from ..mlir import ir


def ttir_text(function: ir.Operation) -> str:
    """A module with ``function`` (a ``tt.func``) alone, as text.  Byte-identical for the same function:
    values and locations are numbered from the start of the text, whatever else its module holds.
    """
    alone = ir.Module.create(loc=ir.Location.unknown(function.context))
    alone.body.append(function.clone(ip=False))
    text = alone.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return of_triton(text)
