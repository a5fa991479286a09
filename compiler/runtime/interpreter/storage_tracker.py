"""Which values of a graph function share a storage, and which of them are out of date.

A value is one *version* of a storage.  A call that ties it makes the next version.  A use of an older version
after that, or of any version after ``fuse.free`` or ``fuse.reuse``, raises ``UseAfterFree``.  The function is
straight-line code, so all of this is known before it runs.
"""

from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.kernel import attribute_items, kernel_ties
from ...ir.storage import callee_name
from ...mlir import ir
from ..errors import UseAfterFree
from .graph_values import describe

#: Ops that may use a value without reading its contents.
_NO_USES = ("fuse.after", "fuse.size")


@dataclass
class _Storage:
    """One storage: its current version, and the op that ended the version before."""

    argument: int | None = None
    version: int = 0
    ended: str | None = None
    alive: bool = True


@dataclass
class _Origin:
    """The place of a tensor value: a storage and the version of it."""

    storage: _Storage
    version: int


@dataclass
class ResultOrigin:
    """The storage of a function's result: that of argument ``argument`` (None: a fresh one), and whether the
    function wrote to it."""

    argument: int | None
    written: bool


class StorageTracker:
    """Follows the storages of one function.  Give it the ops in program order."""

    def __init__(
        self,
        arguments: Sequence[ir.Value],
        declaration: Callable[[str], ir.Operation],
        results_of: Callable[[str], list[ResultOrigin]],
    ) -> None:
        self._declaration, self._results_of = declaration, results_of
        self._origins = {
            a: _Origin(_Storage(argument=i), 0)
            for i, a in enumerate(arguments)
            if isinstance(a.type, ir.RankedTensorType)
        }

    def visit(self, op: ir.Operation) -> None:
        """Checks the uses of ``op`` and records its effect on its operands.  Raises UseAfterFree."""
        if op.name in ("fuse.free", "fuse.reuse"):  # they end all versions
            self._check_alive(op, op.operands[0])
        elif op.name not in _NO_USES:
            self._check_uses(op)
        self._follow(op)

    def returned(self, op: ir.Operation) -> list[ResultOrigin]:
        """The origins of the values that a ``func.return`` returns.  Raises UseAfterFree."""
        self._check_uses(op)
        origins = [self._origins.get(v) for v in op.operands]
        return [
            ResultOrigin(None, False)
            if o is None
            else ResultOrigin(o.storage.argument, o.storage.version > 0)
            for o in origins
        ]

    def _check_uses(self, op: ir.Operation) -> None:
        for value in op.operands:
            origin = self._origins.get(value)
            if origin is None:
                continue
            self._check_alive(op, value)
            if origin.version != origin.storage.version:
                raise UseAfterFree(
                    f"{describe(op)} uses a value that {origin.storage.ended} has overwritten", op.location
                )

    def _check_alive(self, op: ir.Operation, value: ir.Value) -> None:
        origin = self._origins.get(value)
        if origin is not None and not origin.storage.alive:
            raise UseAfterFree(
                f"{describe(op)} uses storage that {origin.storage.ended} has given away", op.location
            )

    def _follow(self, op: ir.Operation) -> None:
        """Records the storages of ``op``'s results, and its effect on those of its operands."""
        origins = [self._origins.get(v) for v in op.operands]
        shared: dict[int, int] = {}  # result number -> number of the operand whose storage it has
        written: set[int] = set()
        if op.name == "fuse.view":
            shared = {0: 0}
        elif op.name in ("fuse.free", "fuse.reuse") and origins[0] is not None:
            origins[0].storage.alive = False
            origins[0].storage.ended = describe(op)
        elif op.name == "func.call":
            shared, written = self._call_aliases(op)
        for operand in sorted(written):
            origin = origins[operand]
            if origin is not None:
                origin.storage.version += 1
                origin.storage.ended = describe(op)
        for i, result in enumerate(op.results):
            if not isinstance(result.type, ir.RankedTensorType):
                continue
            origin = origins[shared[i]] if i in shared else None
            storage = origin.storage if origin is not None else _Storage()
            self._origins[result] = _Origin(storage, storage.version)

    def _call_aliases(self, op: ir.Operation) -> tuple[dict[int, int], set[int]]:
        callee = self._declaration(callee_name(op))
        if "fuse.ties" in callee.attributes:
            ties = dict(enumerate(kernel_ties(callee)))
            return ties, set(ties.values())
        if "fuse.aliases" in callee.attributes:
            return {
                int(n): ir.IntegerAttr(a).value for n, a in attribute_items(callee.attributes["fuse.aliases"])
            }, set()
        if any(a in callee.attributes for a in ("fuse.extern", "fuse.graph", "fuse.control_flow")):
            return {}, set()
        results = self._results_of(callee_name(op))
        found = {i: r.argument for i, r in enumerate(results) if r.argument is not None}
        return found, {a for i, a in found.items() if results[i].written}
