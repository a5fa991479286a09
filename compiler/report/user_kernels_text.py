"""What the kernels of a module read and write, as text, for ``fuse-opt --fuse-print-user-kernels``.

Each function of tile code has a line, followed by what is done to each pointer and by each access:

    @scale
      argument 0: read
      argument 1: written
      effects: assert
      tt.load 0 at l0 + p0*64 over 64: where l0 + p0*64 < a2
      tt.store 1 at l0 + p0*64 + t0*4 over 64, for t0: 0 to a2 by 4: all

``analysis/user_kernel/maps.py`` lists the symbols.  An access is ``in a branch`` where the program decides
whether it is made.
"""

from collections.abc import Iterator

from ..analysis.user_kernel.effects import KernelEffects, kernel_effects
from ..analysis.user_kernel.maps import PointerAccess, access_maps
from ..base.errors import CompileError
from ..base.pointer_effects import PointerEffects
from ..ir.kernel import is_tiled, string
from ..mlir import ir


def user_kernels_text(module: ir.Module) -> str:
    """The text.  Raises CompileError when the module has no function of tile code."""
    found = [op.operation for op in module.body.operations if _is_kernel(op.operation)]
    if not found:
        raise CompileError(message="the module has no function of tile code")
    return "".join(f"{line}\n" for func in found for line in _lines(func))


def _is_kernel(op: ir.Operation) -> bool:
    return op.name == "tt.func" or (op.name == "func.func" and is_tiled(op))


def _lines(func: ir.Operation) -> Iterator[str]:
    effects = kernel_effects(func)
    yield f"@{string(func.attributes['sym_name'])}"
    for number, of_pointer in enumerate(effects.arguments):
        if of_pointer is not None:
            yield f"  argument {number}: {_said(of_pointer)}"
    also = list(_beside(effects))
    if also:
        yield f"  effects: {', '.join(also)}"
    if effects.why is not None:
        yield f"  unknown: {effects.why}"
    for access in access_maps(func):
        yield f"  {_access(access)}"


def _said(effects: PointerEffects) -> str:
    names = ("read", "written", "atomic", "escapes", "unknown")
    return ", ".join(name for name in names if getattr(effects, name)) or "not accessed"


def _beside(effects: KernelEffects) -> Iterator[str]:
    if effects.asserts:
        yield "assert"
    if effects.prints:
        yield "print"
    if effects.elsewhere.written:
        yield "writes unknown memory"
    elif effects.elsewhere.read:
        yield "reads unknown memory"


def _access(access: PointerAccess) -> str:
    at = "unknown elements" if access.offset is None else str(access.offset)
    where = f"{' or '.join(map(str, access.arguments))} at {at}" if access.arguments else "unknown memory"
    over = " x ".join(map(str, access.shape))
    mask = access.mask
    chosen = "unknown" if mask is None else "all" if not mask else "where " + " and ".join(map(str, mask))
    turns = "".join(f", for {t.turn}: {t.lower} to {t.upper} by {t.step}" for t in access.loops)
    branch = ", in a branch" if access.guarded else ""
    return f"{access.op} {where}{f' over {over}' if over else ''}{turns}{branch}: {chosen}"
