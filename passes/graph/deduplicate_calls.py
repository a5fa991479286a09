"""``deduplicate-calls``: what is computed twice is computed once."""

from collections.abc import Hashable
from typing import ClassVar

from ...compiler.analysis.program.dependences import callee_kind, extern_mutated, has_effect
from ...compiler.base.dataclass import dataclass
from ...compiler.base.products import PRODUCTS
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import code_of, kernel_ties, string
from ...compiler.ir.storage import aliased_operands, callee_name
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program, named_attributes
from ..pass_base import AnalysisPass
from .sharing import Sharing

#: Extern ops that give equal results for equal operands, by the name before the overload.
DETERMINISTIC = frozenset(
    {
        *(f"aten.{op.name}" for op in PRODUCTS if op.repeatable),
        "aten.neg", "aten.clone", "aten.cat", "aten._to_copy", "aten.sort", "aten.topk", "aten.index_select",
        "aten.gather", "aten.embedding", "aten.max_pool2d_with_indices", "aten.avg_pool2d",
    }
)  # fmt: skip


@dataclass(frozen=True)
class DeduplicateCalls(AnalysisPass):
    """A call or view that repeats an earlier one is replaced by it.

    Before::

        %a = call @exp(%x, %o)          // %o and %p are fresh empties
        %b = call @exp_1(%x, %p)        // the same body under another name

    After::

        %a = call @exp(%x, %o)          // and %b is %a

    Two calls of kernels are equal when the bodies of the kernels are, names and locations apart, and when all
    operands but the destinations are the same; each destination must be a ``fuse.empty`` that only this call
    uses.  ``fuse.view``, ``fuse.size`` and ``fuse.sym`` are equal when operands, attributes and types are.
    Calls of extern ops are equal under the same conditions if the op is in the table ``DETERMINISTIC``.

    Does not fire on kernels with asserts or that store into anything but fresh empties; on extern ops that
    are not in the table (random ones among them) or have effects, mutated operands or aliases; on values
    whose storage is overwritten later, as they would be read after the change; nor where both results are
    returned: the caller may write into one, which must not change the other.
    """

    name: ClassVar[str] = "deduplicate-calls"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        ops = [o.operation for o in program.block.operations]
        keys = [_key(program, op) for op in ops]
        if _repeats(keys):
            _merge(module, program, ops, keys)
        program.erase_unused()


def _repeats(keys: list[Hashable | None]) -> bool:
    """Whether any operation repeats another: if not, none will once others are merged."""
    found = [key for key in keys if key is not None]
    return len(set(found)) < len(found)


def _merge(module: ir.Module, program: Program, ops: list[ir.Operation], keys: list[Hashable | None]) -> None:
    """Replaces what repeats.  ``keys`` are those of ``ops`` before the first change."""
    earlier = _Earlier(program)
    sharing = Sharing.of(module)
    merged = False
    for op, first_key in zip(ops, keys, strict=True):
        key = _key(program, op) if merged else first_key
        shared = (*op.results, *op.operands)
        if (
            key is None
            or _has_effect(program, op)
            or not sharing.kept.isdisjoint(op.results)
            or not sharing.moving.isdisjoint(shared)
        ):
            continue
        callee = callee_name(op) if op.name == "func.call" else ""
        same = earlier.find(key, callee, list(op.results))
        if same is None:
            continue
        if sharing.returned_apart(same, op.results):
            continue
        for old, new in zip(op.results, same, strict=True):
            old.replace_all_uses_with(new)
        program.erase(op)
        merged = True


class _Earlier:
    """The results of what came before, by key and by what the function does.  A function is printed only
    where another has the same key.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._texts: dict[str, bytes] = {"": b""}
        self._first: dict[Hashable, tuple[str, list[ir.Value]]] = {}
        self._results: dict[tuple[Hashable, bytes], list[ir.Value]] = {}

    def find(self, key: Hashable, callee: str, results: list[ir.Value]) -> list[ir.Value] | None:
        """What an earlier operation gave that does the same; ``results`` is remembered if none does."""
        first, given = self._first.setdefault(key, (callee, results))
        if given is results:
            return None
        self._results.setdefault((key, self._text(first)), given)
        found = self._results.setdefault((key, self._text(callee)), results)
        return None if found is results else found

    def _text(self, name: str) -> bytes:
        if name not in self._texts:
            self._texts[name] = code_of(self._program.functions[name])
        return self._texts[name]


def _has_effect(program: Program, op: ir.Operation) -> bool:
    return op.name == "func.call" and has_effect(op, program.callee(op))


def _key(program: Program, op: ir.Operation) -> Hashable | None:
    """What the results depend on, the function of a call apart; None for an operation that must stay.

    Whether a call has an effect is not asked here: that reads the whole kernel, and few calls repeat another.
    """
    if op.name in ("fuse.view", "fuse.size", "fuse.sym"):
        attributes = tuple((n.name, str(n.attr)) for n in named_attributes(op))
        return (op.name, tuple(op.operands), attributes, tuple(str(r.type) for r in op.results))
    if op.name != "func.call" or not len(op.results):
        return None
    callee = program.callee(op)
    kind = callee_kind(callee)
    if kind not in ("kernel", "extern"):
        return None
    if kind == "extern":
        target = string(callee.attributes["fuse.extern"])
        if (
            target.rpartition(".")[0] not in DETERMINISTIC
            or extern_mutated(callee)
            or aliased_operands(callee)
        ):
            return None
    operands: list[ir.Value | str] = list(op.operands)
    for tie in kernel_ties(callee) if kind == "kernel" else ():
        if not _is_fresh(op.operands[tie]):
            return None
        operands[tie] = str(op.operands[tie].type)
    return ("func.call", *operands)


def _is_fresh(value: ir.Value) -> bool:
    return defining_op(value, fuse.Empty) is not None and len(list(value.uses)) == 1
