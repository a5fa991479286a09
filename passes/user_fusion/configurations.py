"""Fusing into users' kernels that have several configurations (``fuse.configs``): all alike, or none.

A pass that fuses into users' kernels sees none with further configurations.  It runs on one copy of the
module for each configuration, in which the kernels have that configuration alone.  Where ``@main`` and the
signatures are the same in all copies, it runs on the module, and each kernel gets the further configurations
from the copies.  Helpers of the passes that fuse with users' kernels, not a pass.
"""

from collections.abc import Callable

from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import further_configurations, string
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program

#: While a pass runs, on a kernel whose further configurations were put aside: its ``fuse.tuned_by``, and how
#: many configurations there are.  No module that a pass gives back has it.
_MARK = "put_aside"
#: What configurations of one kernel agree in.
_SIGNATURE = ("function_type", "fuse.ties", "arg_attrs")

#: Runs a pass on a module.
Run = Callable[[ir.Module, Remarks, AnalysisManager], None]


def fuse_alike(name: str, module: ir.Module, remarks: Remarks, analyses: AnalysisManager, run: Run) -> None:
    """``run``, which fuses into users' kernels, with every configuration of those that have several.
    ``name``: the pass's.
    """
    functions = functions_of(module)
    tuned = {n: f for n, f in functions.items() if "fuse.configs" in f.attributes}
    if not tuned:
        run(module, remarks, analyses)
        return
    text = module.operation.get_asm(enable_debug_info=True)
    most = 1 + max(len(further_configurations(kernel)) for kernel in tuned.values())
    forms = [_form(text, number, module.context, run) for number in range(most)]
    if len({_agreed(form) for form in forms}) > 1:
        for kernel in tuned.values():
            where = str(kernel.location)
            message = (
                f"the configurations of the user's kernel {string(kernel.attributes['sym_name'])} differ"
            )
            remarks.add(name, "missed", "configurations", message, locations=(where,))
        run(module, remarks, analyses)
        return
    for function in tuned.values():
        _put_aside(function)
    run(module, remarks, analyses)
    program = analyses.get(Program)
    for n, function in list(program.functions.items()):
        if _MARK in function.attributes:
            _add(program, function, [functions_of(form)[n] for form in forms])
    program.erase_unused()


def _form(text: str, number: int, context: ir.Context, run: Run) -> ir.Module:
    """A copy of the module in which kernels have one configuration, after the pass."""
    form = ir.Module.parse(text, context)
    functions = functions_of(form)
    for name, function in functions.items():
        if "fuse.configs" not in function.attributes:
            continue
        others = (name, *further_configurations(function))
        chosen = functions[others[min(number, len(others) - 1)]]
        _put_aside(function)
        if chosen == function:
            continue
        copy = chosen.clone(ir.InsertionPoint(function))
        copy.attributes["sym_name"] = function.attributes["sym_name"]
        copy.attributes[_MARK] = function.attributes[_MARK]
        function.erase()
    run(form, Remarks(), AnalysisManager(form))
    return form


def _put_aside(function: ir.Operation) -> None:
    """The kernel has one configuration, until the pass is done."""
    count = len(further_configurations(function)) + 1
    function.attributes[_MARK] = ir.ArrayAttr.get(
        [function.attributes["fuse.tuned_by"], ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)]
    )
    del function.attributes["fuse.configs"], function.attributes["fuse.tuned_by"]


def _agreed(form: ir.Module) -> tuple[object, ...]:
    """What has to be the same in all copies."""
    functions = functions_of(form)
    marked = sorted(name for name, function in functions.items() if _MARK in function.attributes)
    return (
        functions["main"].get_asm(enable_debug_info=False),
        *(str(functions[name].attributes.get(part)) for name in marked for part in _SIGNATURE),
        *marked,
    )


def _add(program: Program, function: ir.Operation, forms: list[ir.Operation]) -> None:
    """Gives a kernel its further configurations back, as they are after the pass."""
    tuned_by, count = ir.ArrayAttr(function.attributes[_MARK])
    for form in (function, *forms):
        del form.attributes[_MARK]
    program.configure(function, forms[1 : ir.IntegerAttr(count).value], tuned_by)
