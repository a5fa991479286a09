"""A module as text, by which programs are stored."""

from ..ir.context import make_context
from ..mlir import ir
from .errors import RunError


def module_text(module: ir.Module) -> str:
    """The text of a module, with the locations of its ops."""
    return module.operation.get_asm(enable_debug_info=True, assume_verified=True)


def read_module(text: str) -> ir.Module:
    """The module that ``module_text`` wrote.  Raises RunError for any other text."""
    with make_context(), ir.Location.unknown():
        try:
            return ir.Module.parse(text)
        except ir.MLIRError:
            raise RunError("the stored module of the program cannot be read") from None
