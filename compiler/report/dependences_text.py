"""The dependences of ``@main`` as text, for ``fuse-opt --fuse-print-dependences``.

Each operation has a line, followed by what it accesses and what it has to follow:

    3: @scale
      read a0.0 [d0, d1] over d0 = 8, d1 = 64: exact
      write b1.1 [d0, d1] over d0 = 8, d1 = 64: exact
      uses s0
      after 1: data, exact
      after 2: war of a0, order

Buffers are ``a0``, ``a1``, .. (arguments of ``@main``) and ``b0``, ``b1``, .. (all others, as they appear).
The number behind the dot is the version; each write makes a new one.  An access is ``exact`` where a kernel
says at which points it is.  It is ``whole`` where an extern op, a loaded index or the end of the program may
touch any element.  ``n7`` is a number of the host that has no symbol.
"""

from collections.abc import Iterator

from ..analysis.kernel.accesses import Read, Summary, Write
from ..analysis.kernel.info import KernelInfo
from ..analysis.program.dependences import Dependences, Edge, Node
from ..ir.kernel import string
from ..mlir import ir


def dependences_text(module: ir.Module) -> str:
    """The text.  Raises ValueError when the module has no ``@main``."""
    return "".join(f"{line}\n" for line in _Writer(Dependences.of(module)).lines())


class _Writer:
    def __init__(self, deps: Dependences) -> None:
        self.deps = deps
        self.after: dict[int, list[Edge]] = {}
        for edge in deps.edges:
            self.after.setdefault(edge.after, []).append(edge)
        self.names: dict[int, str] = {}  #: of each root
        self.written: dict[int, int] = {}  #: the newest version of each root
        self.version: dict[int, int] = {}  #: of each value
        self.mutated: dict[int, int] = {}  #: by root, the version that an extern op made by mutation
        for number in range(deps.arguments):
            self.names[number] = f"a{number}"

    def lines(self) -> Iterator[str]:
        for node in self.deps.nodes:
            yield f"{node.index}: {'' if node.callee is None else '@'}{node.name}"
            yield from (f"  {line}" for line in (*self.accesses(node), *self.sizes(node)))
            for edge in self.after.get(node.index, ()):
                of = f" of {self.buffer(edge.storage)}" if edge.storage >= 0 else ""
                yield f"  after {edge.before}: {edge.reason}{of}, {edge.strength}"

    def accesses(self, node: Node) -> Iterator[str]:
        summary = None
        if node.kind == "kernel":
            assert node.callee is not None
            summary = KernelInfo.of(node.callee).summary
        if node.kind == "fuse.view":
            self.inherit(node)
            yield f"view {self.named(node.results[0])}"
        elif summary is None:
            reads = node.operands if node.kind == "func.return" else node.reads
            yield from (f"read {self.named(v)}: whole" for v in reads if self.deps.is_tensor(v))
            yield from self.written_whole(node)
        else:
            for read in summary.reads:
                yield f"read {self.named(node.operands[read.argument])} {_where(summary, read)}"
            for write in summary.writes:
                result = node.results[write.result]
                self.renew(result)
                mode = "write" if write.mode == "set" else write.mode
                yield f"{mode} {self.named(result)} {_where(summary, write)}"

    def written_whole(self, node: Node) -> Iterator[str]:
        """What an operation writes at unknown points: destinations, mutated operands, fresh results."""
        for value in node.mutated:
            self.renew(value)
            self.mutated[self.deps.roots[value]] = self.version[value]
            yield f"write {self.named(value)}: whole"
        tied = dict(zip(node.results, node.destinations, strict=False))
        shared = {self.deps.roots[v] for v in node.operands}
        for result in node.results:
            if result in tied:
                self.renew(result)
            elif self.deps.roots[result] in shared:
                self.version[result] = self.written.get(self.deps.roots[result], 0)
            if not self.deps.is_tensor(result):
                continue
            if result in tied or self.deps.roots[result] not in shared:
                yield f"{'make' if node.kind == 'fuse.empty' else 'write'} {self.named(result)}: whole"
            else:
                yield f"view {self.named(result)}"

    def sizes(self, node: Node) -> Iterator[str]:
        """The sizes and other numbers of the host that a node defines, and those that it uses."""
        made = [_symbol(node, i) for i, v in enumerate(node.results) if self.is_number(v)]
        used = [self.number_name(v) for v in dict.fromkeys(node.operands) if self.is_number(v)]
        if made:
            yield f"defines {', '.join(made)}"
        if used:
            yield f"uses {', '.join(used)}"
        for name, value in zip(made, [v for v in node.results if self.is_number(v)], strict=True):
            self.names[value] = name

    def is_number(self, value: int) -> bool:
        type_ = self.deps.values[value].type
        return isinstance(type_, (ir.IndexType, ir.IntegerType, ir.F64Type))

    def number_name(self, value: int) -> str:
        """A size by its symbol, any other number by where it comes from."""
        if value < self.deps.arguments:
            attributes = self.deps.main.attributes
            if "arg_attrs" in attributes:
                table = ir.DictAttr(ir.ArrayAttr(attributes["arg_attrs"])[value])
                if "fuse.sym" in table:
                    return string(table["fuse.sym"])
        return self.names.get(value, f"n{value}")

    def buffer(self, value: int) -> str:
        root = self.deps.roots[value]
        if root not in self.names:
            self.names[root] = f"b{sum(name.startswith('b') for name in self.names.values())}"
        return self.names[root]

    def named(self, value: int) -> str:
        version = max(self.version.get(value, 0), self.mutated.get(self.deps.roots[value], 0))
        return f"{self.buffer(value)}.{version}"

    def renew(self, value: int) -> None:
        """Makes a new version of a buffer, which ``value`` then stands for."""
        root = self.deps.roots[value]
        self.version[value] = self.written[root] = self.written.get(root, 0) + 1

    def inherit(self, node: Node) -> None:
        self.version[node.results[0]] = self.version.get(node.operands[0], 0)


def _where(summary: Summary, access: Read | Write) -> str:
    at = ", ".join(map(str, access.coords))
    over = ", ".join(f"{d} = {e}" for d, e in summary.dims.items() if d in access.dims)
    return f"[{at}]{f' over {over}' if over else ''}: {'whole' if access.indirect else 'exact'}"


def _symbol(node: Node, result: int) -> str:
    """The name of a result that is a size, or a name made of the operation's number."""
    attributes = node.op.attributes
    if "symbol" in attributes:
        return string(attributes["symbol"])
    for holder in (attributes, {} if node.callee is None else node.callee.attributes):
        if "res_attrs" in holder:
            table = ir.DictAttr(ir.ArrayAttr(holder["res_attrs"])[result])
            if "fuse.sym" in table:
                return string(table["fuse.sym"])
    return f"n{node.results[result]}"
