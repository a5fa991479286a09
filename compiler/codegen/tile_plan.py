"""The structure of a tiled kernel: the axes and the stage of every op, and which ops each loop contains.
Reads IR and changes nothing.
"""

from collections.abc import Collection, Sequence

from ..ir.contractions import PRODUCTS
from ..ir.dialects import fuse
from ..ir.kernel import ASSERTS, REDUCTIONS, Kernel, over
from ..ir.tile import Tile
from ..mlir import func, ir

STORES = ("fuse.store",)


class TilingError(Exception):
    """A kernel and its tile do not fit together.  The message is one sentence; ``location`` is the op's."""

    def __init__(self, message: str, location: ir.Location) -> None:
        super().__init__(message)
        self.location = location


class KernelPlan:
    """Axes, loop membership and stage of the ops of a kernel's body.

    An op is *in the loop* when it runs over the looped axis.  ``stage[op]`` is the length of the longest
    chain of reductions over the looped axis among the ops that it depends on.  An op in the loop belongs to
    loop ``stage``; any other op stands between loop ``stage - 1`` and loop ``stage``.
    """

    def __init__(self, kernel: Kernel, tile: Tile) -> None:
        self.kernel, self.tile = kernel, tile
        body = kernel.func.regions[0].blocks[0].operations
        self.ops = [op for op in body if not isinstance(op, func.ReturnOp)]
        if kernel.products and kernel.scans:
            self._wait_late()
        self.axes: dict[ir.Operation, tuple[int, ...]] = {}
        self.value_axes: dict[ir.Value, tuple[int, ...]] = {}
        self.stage: dict[ir.Operation, int] = {}
        self._value_stage: dict[ir.Value, int] = {}
        for op in self.ops:
            self._read(op)
        self.last = max(self.stage.values(), default=0)
        if kernel.products:
            self._sink()
        self._keep_old_contents()
        self._check_grid_stores()

    # --- queries ------------------------------------------------------------------------------------------
    def in_loop(self, op: ir.Operation) -> bool:
        """Whether ``op`` runs over the looped axis."""
        return self.tile.looped is not None and self.tile.looped in self.axes[op]

    def is_accumulated(self, op: ir.Operation) -> bool:
        """Whether ``op`` is a reduction over the looped axis."""
        return (
            op.name in REDUCTIONS and self.tile.looped is not None and self.tile.looped in self.over_axes(op)
        )

    def over_axes(self, op: ir.Operation) -> tuple[int, ...]:
        """The axes that a reduction or scan crosses."""
        return tuple(sorted({self.tile.axis_of(d) for d in over(op)}))

    def between(self, stage: int) -> list[ir.Operation]:
        """Ops outside the loops that stand before loop ``stage``, in program order."""
        return [op for op in self.ops if not self.in_loop(op) and self.stage[op] == stage]

    def roots(self, stage: int) -> list[ir.Operation]:
        """The ops that make loop ``stage`` necessary: accumulated reductions, stores and asserts."""
        wanted = (*STORES, *ASSERTS)
        return [
            op
            for op in self.ops
            if self.in_loop(op) and self.stage[op] == stage and (op.name in wanted or self.is_accumulated(op))
        ]

    def body(self, stage: int) -> list[ir.Operation]:
        """All ops of loop ``stage`` in program order: its roots, and the in-loop ops that they depend on."""
        return self.made_for(self.roots(stage))

    def made_for(self, roots: Collection[ir.Operation]) -> list[ir.Operation]:
        """``roots`` of a loop and the in-loop ops that they depend on, in program order."""
        needed = set(roots)
        for op in reversed(self.ops):
            if op in needed:
                for operand in op.operands:
                    owner = operand.owner
                    if (
                        not isinstance(owner, ir.Block)
                        and self.in_loop(owner)
                        and not self.is_accumulated(owner)
                    ):
                        needed.add(owner)
        return [op for op in self.ops if op in needed]

    def ahead(self) -> list[ir.Operation]:
        """The loads that wait for no reduction, and what they need, in program order."""
        waits, needed = set[ir.Operation](), set[ir.Operation]()
        for op in self.ops:
            made = any(not isinstance(v.owner, ir.Block) and v.owner in waits for v in op.operands)
            if made or op.name in (*REDUCTIONS, *STORES, *ASSERTS) or isinstance(op, fuse.Scan):
                waits.add(op)
        for op in reversed(self.ops):
            if op in needed or (isinstance(op, fuse.Load) and op not in waits):
                needed.add(op)
                needed.update(v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block))
        return [op for op in self.ops if op in needed]

    def common(self, again: Collection[ir.Operation] = ()) -> set[ir.Operation]:
        """The ops that do the same in all programs: they run over no grid axis, read nothing that the kernel
        writes, write nothing and assert nothing.  ``again``: those that are computed for each block.
        """
        cut = {i for i, axis in enumerate(self.tile.axes) if axis.kind == "grid"}
        written = {access.argument for access in self.kernel.stores}
        kept = {op for argument in written for op in self._loads_of(argument)}
        found = set[ir.Operation]()
        for op in self.ops:
            made = all(isinstance(v.owner, ir.Block) or v.owner in found for v in op.operands)
            if (
                op not in again
                and made
                and not cut & {*self.axes[op]}
                and op not in kept
                and op.name not in (*STORES, *ASSERTS)
            ):
                found.add(op)
        return found

    def missing_grid_axes(self, op: ir.Operation) -> tuple[int, ...]:
        """Grid axes with more than one program that ``op`` does not run over."""
        return tuple(
            i
            for i, axis in enumerate(self.tile.axes)
            if axis.kind == "grid" and axis.dims and i not in self.axes[op]
        )

    def missing_dims(self, op: ir.Operation) -> tuple[str, ...]:
        """Dims of the op's axes that ``op`` itself does not run over.  It is executed where these are 0."""
        own = self.kernel.op_dims[op]
        return tuple(d for i in self.axes[op] for d in self.tile.axes[i].dims if d not in own)

    def meets_only(self, op: ir.Operation, axes: Sequence[int]) -> bool:
        """Whether the result of ``op``, and whatever is computed from it, is only used by ops that run over
        all of ``axes``.  False where an op over fewer axes stores it, reduces it or uses it as an index.
        """
        for use in (use for result in op.results for use in result.uses):
            user = use.owner
            if set(axes) <= set(self.axes.get(user, ())):
                continue
            if not (user.name.startswith(("arith.", "math.")) and self.meets_only(user, axes)):
                return False
        return True

    # --- construction -------------------------------------------------------------------------------------
    def _read(self, op: ir.Operation) -> None:
        dims = set(self.kernel.op_dims[op])
        crosses = op.name in REDUCTIONS or isinstance(op, fuse.Scan)
        if crosses:
            dims.update(over(op))
        self.axes[op] = tuple(sorted({self.tile.axis_of(d) for d in dims}))
        if crosses:
            self._check_over(op)
        stage = max((self._value_stage.get(v, 0) for v in op.operands), default=0)
        self.stage[op] = stage
        after = stage + 1 if self.is_accumulated(op) else stage
        for result in op.results:
            self._value_stage[result] = after
            own = {self.tile.axis_of(d) for d in self.kernel.value_dims[result]}
            self.value_axes[result] = tuple(i for i in self.axes[op] if op.name not in REDUCTIONS or i in own)

    def _check_over(self, op: ir.Operation) -> None:
        crossed = set(over(op))
        for number in self.over_axes(op):
            axis = self.tile.axes[number]
            if axis.kind == "grid":
                where = f"the axis of {list(axis.dims)} is cut across programs"
                raise TilingError(f"{op.name} crosses {sorted(crossed)}, and {where}", op.location)
            if not set(axis.dims) <= crossed:
                raise TilingError(
                    f"{op.name} crosses {sorted(crossed)}, which is a part of the axis of {list(axis.dims)}",
                    op.location,
                )
        if isinstance(op, fuse.Scan) and tuple(self.tile.axes[self.over_axes(op)[0]].dims) != over(op):
            raise TilingError(
                f"fuse.scan needs an axis of its own, got {list(self.tile.axes[self.over_axes(op)[0]].dims)}",
                op.location,
            )

    def _loads_of(self, argument: int) -> list[ir.Operation]:
        return [a.op for a in self.kernel.loads if a.argument == argument]

    def _wait_late(self) -> None:
        """Products stand behind all that needs none, and scans behind all products that need none: both wait
        for their threads, and what is loaded is on its way by then.
        """
        place = dict[ir.Operation, int]()
        for op in self.ops:
            owners = [v.owner for v in op.operands if not isinstance(v.owner, ir.Block)]
            own = 2 if isinstance(op, fuse.Scan) else 1 if op.name in PRODUCTS else 0
            place[op] = max([own, *(place[owner] for owner in owners)])
        self.ops.sort(key=place.__getitem__)

    def _sink(self) -> None:
        """Tiles that are needed after a loop only are computed there: before it they would fill the registers
        that sums of products need.  A load stays in front of the stores to its tensor.
        """
        written: dict[int, int] = {}
        for access in self.kernel.stores:
            stage = self.stage[access.op]
            written[access.argument] = min(stage, written.get(access.argument, stage))
        limits = {a.op: written[a.argument] for a in self.kernel.loads if a.argument in written}
        for op in reversed(self.ops):
            tile = [i for i in self.axes[op] if self.tile.axes[i].block > 1]
            users = [use.owner for result in op.results for use in result.uses]
            if len(tile) > 1 and users and not self.in_loop(op) and op.name not in (*STORES, *ASSERTS):
                used = min(self.stage.get(user, self.last) for user in users)
                self.stage[op] = min(used, limits.get(op, used))

    def _keep_old_contents(self) -> None:
        """A store to a tensor that loops load is moved to the last loop, or behind it."""
        for access in self.kernel.stores:
            if any(self.in_loop(op) for op in self._loads_of(access.argument)):
                self.stage[access.op] = self.last + (not self.in_loop(access.op))

    def _check_grid_stores(self) -> None:
        for access in self.kernel.stores:
            missing = self.missing_grid_axes(access.op)
            loads = self._loads_of(access.argument)
            if missing and any(set(missing) & set(self._reached(op)) for op in loads):
                raise TilingError(
                    f"argument {access.argument} is updated in place by one program while others read it",
                    access.op.location,
                )

    def _reached(self, op: ir.Operation) -> Sequence[int]:
        """The axes of all ops that depend on ``op``."""
        reached = {op}
        axes: set[int] = set()
        for later in self.ops:
            if later in reached or any(
                not isinstance(v.owner, ir.Block) and v.owner in reached for v in later.operands
            ):
                reached.add(later)
                axes.update(self.axes[later])
        return sorted(axes)
