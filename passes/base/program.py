"""``@main`` with its functions and calls: find, copy, name, redirect, erase.  Not a pass."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from ...compiler.analysis.program.dependences import symbol
from ...compiler.base.dataclass import dataclass
from ...compiler.index import Facts
from ...compiler.ir.kernel import (
    INSTEAD,
    argument_attributes,
    further_configurations,
    is_kernel,
    is_tiled,
    is_users,
    kernel_dims,
    program_facts,
    string,
)
from ...compiler.ir.nesting import modules_in
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import func, ir, passmanager
from ..pass_base import PassError
from .kernels import adding_dims, keep_dims

#: The most frequent operations of ``@main``, which refer to no function.
WITHOUT_REFERENCES = frozenset({"fuse.empty", "fuse.view", "fuse.size", "fuse.sym", "func.return"})

#: Patterns of upstream's ``canonicalize`` that leave out a rounding of eager's: an integer becomes a float,
#: and that a narrower one.
ROUND_ONCE = ("{anonymous}::TruncFSIToFPToSIToFP", "{anonymous}::TruncFUIToFPToUIToFP")


@dataclass
class Program:
    """A module's ``@main``, functions and calls, kept current by the methods that change them."""

    module: ir.Module
    functions: dict[str, ir.Operation] = field(default_factory=dict)
    callers: dict[str, int] = field(default_factory=dict)  #: calls of each function in ``@main``
    _named: set[str] = field(default_factory=set)  #: what other operations of ``@main`` refer to
    _nested: bool = True  #: whether there may be modules inside
    _scalar: set[str] = field(default_factory=set)  #: functions known to be scalar kernels
    _ends: set[str] = field(default_factory=set)  #: functions known to refer to none

    @staticmethod
    def of(module: ir.Module) -> "Program":
        """Reads the module.

        Raises PassError when there is no graph ``@main``, or a call of ``@main`` names no function.
        """
        program = Program(module, functions_of(module), _nested=bool(modules_in(module)))
        if "main" not in program.functions:
            raise PassError("the module has no function @main", module.operation.location)
        main = program.main
        if "fuse.kernel" in main.attributes or not len(main.regions[0].blocks):
            raise PassError("expected @main to be a graph, got a kernel or a declaration", main.location)
        _references(main, program._named)
        program.callers = dict.fromkeys(program.functions, 0)
        for op in (o.operation for o in program.block.operations):
            if op.name != "func.call":
                if op.name not in WITHOUT_REFERENCES:
                    _collect(op, program._named)
                continue
            name = symbol(op.attributes["callee"])
            if name not in program.functions:
                raise PassError(f"a call of @{name}, which the module does not define", op.location)
            program.callers[name] += 1
        return program

    def state(self) -> Mapping[str, object]:
        """What a pass keeps current that preserves the program, see ``analysis_manager.py``."""
        return {"functions": self.functions, "callers": self.callers, "references": self._named}

    @property
    def main(self) -> ir.Operation:
        return self.functions["main"]

    @property
    def block(self) -> ir.Block:
        return self.main.regions[0].blocks[0]

    def calls(self) -> list[ir.Operation]:
        """The ``func.call`` operations of ``@main`` in program order."""
        return [op.operation for op in self.block.operations if type(op) is func.CallOp]

    def arrange(self, ops: Sequence[ir.Operation]) -> None:
        """Puts the operations of ``@main`` in this order: all of them, the return last.

        Raises PassError where there is no return.
        """
        last = ops[-1]
        if last.name != "func.return":
            raise PassError("@main does not end in a return", self.main.location)
        for op in ops[:-1]:
            op.move_before(last)

    def callee(self, call: ir.Operation) -> ir.Operation:
        return self.functions[symbol(call.attributes["callee"])]

    def kernel_calls(self) -> list[tuple[ir.Operation, ir.Operation]]:
        """(call, kernel) of every call of a scalar kernel, in program order; users' kernels are none.

        Raises PassError on a kernel of the compiler's that is tiled already.
        """
        found = []
        for call in self.calls():
            name = symbol(call.attributes["callee"])
            if name not in self._scalar:
                kernel = self.functions[name]
                if not is_kernel(kernel) or is_users(kernel):
                    continue
                if is_tiled(kernel):
                    raise PassError(f"@{name} is tile code: schedule before tiling", kernel.location)
                self._scalar.add(name)
            found.append((call, self.functions[name]))
        return found

    def unique_name(self, base: str) -> str:
        """``base``, or ``base_1``, ``base_2``, .. when a function has that name."""
        if base not in self.functions:
            return base
        number = 1
        while f"{base}_{number}" in self.functions:
            number += 1
        return f"{base}_{number}"

    def copy(self, kernel: ir.Operation) -> ir.Operation:
        """A copy of a kernel under a name of its own, after it; nothing calls it yet.  It will be changed, so
        that it is none of several configurations any more (``fuse.configs``).
        """
        old = string(kernel.attributes["sym_name"])
        name = self.unique_name(old)
        new = kernel.clone(ir.InsertionPoint(kernel))
        new.move_after(kernel)
        new.attributes["sym_name"] = ir.StringAttr.get(name)
        self.functions[name] = new
        self.callers[name] = 0
        _leave_configurations(new)
        return new

    def own(self, call: ir.Operation, kernel: ir.Operation) -> ir.Operation:
        """The callee of ``call`` as a function that nothing else calls, to be changed: itself, or a copy that
        ``call`` now calls; it is none of several configurations any more, see ``copy``.
        """
        name = string(kernel.attributes["sym_name"])
        if self.callers[name] == 1:
            _leave_configurations(kernel)
            return kernel
        new = self.copy(kernel)
        self.redirect(call, string(new.attributes["sym_name"]))
        return new

    def rename(self, kernel: ir.Operation, call: ir.Operation, name: str) -> None:
        """Gives the callee of ``call``, which nothing else calls, another name."""
        old = string(kernel.attributes["sym_name"])
        self.functions[name] = self.functions.pop(old)
        self.callers[name] = 0
        kernel.attributes["sym_name"] = ir.StringAttr.get(name)
        self.redirect(call, name)
        del self.callers[old]
        self._scalar.discard(old)
        self._ends.discard(old)

    def redirect(self, call: ir.Operation, name: str) -> None:
        """Makes ``call`` one of another function."""
        self.callers[symbol(call.attributes["callee"])] -= 1
        self.callers[name] += 1
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)

    def recall(
        self,
        call: ir.Operation,
        callee: ir.Operation,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
    ) -> ir.Operation:
        """A new call in front of ``call``, with its location and attributes; ``call`` keeps its uses."""
        name = string(callee.attributes["sym_name"])
        attributes = {n.name: n.attr for n in named_attributes(call)}
        attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
        self.callers[name] = self.callers.get(name, 0) + 1
        return ir.Operation.create(
            "func.call",
            list(results),
            list(operands),
            attributes,
            loc=call.location,
            ip=ir.InsertionPoint(call),
        )

    def configure(self, kernel: ir.Operation, others: Sequence[ir.Operation], tuned_by: ir.Attribute) -> None:
        """Gives a user's kernel further configurations: copies of ``others``, of any module."""
        own = string(kernel.attributes["sym_name"])
        names = []
        for other in others:
            name = self.unique_name(own)
            copy = other.clone(ir.InsertionPoint(kernel))
            copy.move_after(kernel)
            copy.attributes["sym_name"] = ir.StringAttr.get(name)
            self.functions[name], self.callers[name] = copy, 0
            names.append(ir.FlatSymbolRefAttr.get(name))
        kernel.attributes["fuse.configs"] = ir.ArrayAttr.get(names)
        kernel.attributes["fuse.tuned_by"] = tuned_by
        self._ends.discard(own)

    def discard(self, kernel: ir.Operation) -> None:
        """Erases a kernel that nothing calls."""
        name = string(kernel.attributes["sym_name"])
        assert not self.callers[name], f"@{name} is called"
        del self.functions[name], self.callers[name]
        kernel.erase()

    def erase_call(self, call: ir.Operation) -> None:
        """Erases a call without uses."""
        self.callers[symbol(call.attributes["callee"])] -= 1
        call.erase()

    def erase(self, op: ir.Operation) -> None:
        """Erases an operation of ``@main`` without uses."""
        if op.name == "func.call":
            self.erase_call(op)
        else:
            op.erase()

    def erase_unused(self) -> None:
        """Erases the private functions and the sub-graphs that no public function leads to."""
        used = self._named | {name for name, count in self.callers.items() if count}
        waiting = [name for name in self.functions if name in used or self._is_public(name)]
        while waiting:
            name = waiting.pop()
            if name == "main" or name in self._ends:
                continue
            function, found = self.functions[name], set[str]()
            if "fuse.configs" in function.attributes:
                found.update(further_configurations(function))
            elif INSTEAD in function.attributes:
                found.add(symbol(function.attributes[INSTEAD]))
            elif is_kernel(function) or "fuse.extern" in function.attributes:
                self._ends.add(name)
            else:
                _collect(function, found)
            waiting += [n for n in found - used if n in self.functions]
            used |= found
        for name in [n for n in self.functions if n not in used and not self._is_public(n)]:
            self.functions.pop(name).erase()
            self.callers.pop(name, None)
            self._scalar.discard(name)
            self._ends.discard(name)
        if self._nested:
            for name, graph in modules_in(self.module).items():
                if name not in used:
                    graph.operation.erase()

    def _is_public(self, name: str) -> bool:
        return name == "main" or "sym_visibility" not in self.functions[name].attributes

    def clean(self, kernel: ir.Operation) -> None:
        """Upstream's canonicalise and CSE on one kernel: constants, equal loads, and what nothing uses.  All
        patterns but ``ROUND_ONCE``.
        """
        adding = adding_dims(kernel)
        self._cleaning.run(kernel)
        keep_dims(kernel, adding)

    @cached_property
    def _cleaning(self) -> passmanager.PassManager:
        """Kept, since gathering the patterns takes longer than rewriting one kernel."""
        simplify = f"canonicalize{{disable-patterns={','.join(ROUND_ONCE)}}}"
        return passmanager.PassManager.parse(f"func.func({simplify},cse)", self.module.context)

    def symbols(self) -> dict[str, ir.Value]:
        """Every size symbol of ``@main`` and the index value it names.

        Raises PassError where two values have one name.
        """
        found: dict[str, ir.Value] = {}

        def add(name: str, value: ir.Value, location: ir.Location) -> None:
            if name in found:
                raise PassError(f"two values of @main are the size symbol '{name}'", location)
            found[name] = value

        for position, names in enumerate(argument_attributes(self.main)):
            if "fuse.sym" in names:
                add(string(names["fuse.sym"]), self.block.arguments[position], self.main.location)
        for op in (o.operation for o in self.block.operations):
            if op.name in ("fuse.sym", "fuse.size"):
                add(string(op.attributes["symbol"]), op.results[0], op.location)
            elif op.name == "func.call":
                declared = op.attributes if "res_attrs" in op.attributes else self.callee(op).attributes
                if "res_attrs" not in declared:
                    continue
                for result, names in zip(op.results, ir.ArrayAttr(declared["res_attrs"]), strict=True):
                    table = ir.DictAttr(names)
                    if "fuse.sym" in table:
                        add(string(table["fuse.sym"]), result, op.location)
        return found

    def facts(self, kernel: ir.Operation | None = None) -> Facts:
        """What ``@main`` says of its symbols, and the extents of ``kernel``'s dims."""
        facts = program_facts(self.main)
        return facts if kernel is None else facts.with_extents(kernel_dims(kernel))


def _leave_configurations(kernel: ir.Operation) -> None:
    for name in ("fuse.configs", "fuse.tuned_by"):
        if name in kernel.attributes:
            del kernel.attributes[name]


def named_attributes(op: ir.Operation) -> Iterable[ir.NamedAttribute]:
    names = op.attributes
    return [names[i] for i in range(len(names))]


def _collect(op: ir.Operation, used: set[str]) -> None:
    """Adds the functions that ``op`` and what is inside refer to."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        _references(inner.operation, used)
        return ir.WalkResult.ADVANCE

    op.walk(visit)


def _references(op: ir.Operation, used: set[str]) -> None:
    if op.name == "func.call":
        used.add(symbol(op.attributes["callee"]))
    elif not op.name.startswith("fuse."):
        for named in named_attributes(op):
            if isinstance(named.attr, ir.FlatSymbolRefAttr):
                used.add(named.attr.value)
