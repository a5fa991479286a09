"""A kernel that is given as TTIR text, as ``ttir_of.py`` gives one that is given as a Python function."""

from ...base.triton_text import captured_stderr, first_error, memory_file, without_file
from ...base.ttir_function import TtirFunction
from ...ir.dialects.tt_text import mirrored
from .ttir_of import KernelTtir, generic_text, simplify


class TtirTextError(Exception):
    """Triton does not parse a text.  line: in the text, from 1; None where unknown."""

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


def parsed_ttir(function: TtirFunction, *, capability: int = 90) -> KernelTtir:
    """The text as the mirror of Triton's dialect spells it, simplified.  capability: 90 is sm_90.  Raises
    TtirTextError.
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    context = ir.context()
    ir.load_dialects(context)
    make_backend(GPUTarget("cuda", capability, 32)).load_dialects(context)
    with captured_stderr() as captured, memory_file(function.text) as path:
        try:
            module = ir.parse_mlir_module(path, context)
            module.context = context
            name = module.get_entry_func_name()
        except Exception as error:
            location, message = first_error(without_file(captured())) or ("", str(error))
            _, _, place = location.partition(":")
            line = place.partition(":")[0]
            raise TtirTextError(message, int(line) if line.isdigit() else None) from error
    if not name:
        raise TtirTextError("expected one public tt.func", None)
    simplify(module)
    names = tuple(parameter.name for parameter in function.params)
    return KernelTtir(name, names, mirrored(generic_text(module)), {}, {})


__all__ = ["TtirTextError", "parsed_ttir"]
