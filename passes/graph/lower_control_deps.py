"""``lower-control-deps``: ordered groups dissolve into calls that take their tokens."""

from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import argument_attributes, string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import result_types
from ..base.program import Program
from ..pass_base import AnalysisPass, PassError

#: Operations that do nothing when the program runs, so that there is nothing to order.
TIMELESS = frozenset({"fuse.view", "fuse.empty", "fuse.size", "fuse.sym", "fuse.after", "arith.constant"})


@dataclass(frozen=True)
class LowerControlDeps(AnalysisPass):
    """Inlines ``{fuse.control_deps}`` functions into ``@main``; every call in them takes the tokens that the
    group took.

    Before::

        %t = "fuse.after"(%a)
        %y = call @ordered(%x, %t)                   // a body that calls @neg, attributes {fuse.control_deps}

    After::

        %t = "fuse.after"(%a)
        %y = call @neg(%x, %o, %t)                   // @neg has one more argument, a token

    Every call of a group is ordered, whether or not it has an effect, and none is dropped.  Where a function
    is also called from outside the group, the calls inside get a copy of it that takes the tokens.  A group
    that takes no token is inlined as it is.

    Raises PassError where a group with tokens holds an operation that does something and cannot take a token
    (a random draw, ``scf``): ``fuse.rng cannot be ordered after other operations: it takes no token``.
    """

    name: ClassVar[str] = "lower-control-deps"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        variants: dict[tuple[str, int], ir.Operation] = {}
        waiting = [c for c in program.calls() if _is_group(program.callee(c))]
        while waiting:
            waiting = [c for call in waiting for c in _inline(program, call, variants)]
        program.erase_unused()


def _is_group(function: ir.Operation) -> bool:
    return "fuse.control_deps" in function.attributes


def _inline(
    program: Program, call: ir.Operation, variants: dict[tuple[str, int], ir.Operation]
) -> list[ir.Operation]:
    """Replaces one call of a group by its operations; returns the calls of groups among them."""
    block = program.callee(call).regions[0].blocks[0]
    tokens = [v for v in call.operands if isinstance(v.type, fuse.Token)]
    values = dict(zip(block.arguments, call.operands, strict=True))
    here = ir.InsertionPoint(call)
    nested = []
    for op in (o.operation for o in block.operations):
        if op.name == "func.return":
            for old, new in zip(call.results, op.operands, strict=True):
                old.replace_all_uses_with(values[new])
            continue
        if tokens and op.name not in TIMELESS and op.name != "func.call":
            raise PassError(
                f"{op.name} cannot be ordered after other operations: it takes no token", op.location
            )
        new = op.clone(here)
        for i, operand in enumerate(op.operands):
            new.operands[i] = values[operand]
        if op.name == "func.call":
            program.callers[string(program.callee(new).attributes["sym_name"])] += 1
            if tokens:
                new = _ordered(program, new, tokens, variants)
            if _is_group(program.callee(new)):
                nested.append(new)
        values.update(zip(op.results, new.results, strict=True))
    program.erase_call(call)
    return nested


def _ordered(
    program: Program,
    call: ir.Operation,
    tokens: list[ir.Value],
    variants: dict[tuple[str, int], ir.Operation],
) -> ir.Operation:
    """The call with the tokens appended, of a variant of its function that takes them."""
    function = program.callee(call)
    name = string(function.attributes["sym_name"])
    if (name, len(tokens)) not in variants:
        new = program.copy(function)
        attributes = [*argument_attributes(function), *({} for _ in tokens)]
        inputs = list(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs)
        types = [*inputs, *(t.type for t in tokens)]
        new.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, result_types(function)))
        if any(attributes):
            new.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
        for block in new.regions[0].blocks:
            for token in tokens:
                block.add_argument(token.type, function.location)
        variants[name, len(tokens)] = new
    variant = variants[name, len(tokens)]
    ordered = program.recall(call, variant, [*call.operands, *tokens], [r.type for r in call.results])
    for old, new in zip(call.results, ordered.results, strict=True):
        old.replace_all_uses_with(new)
    program.erase_call(call)
    return ordered
