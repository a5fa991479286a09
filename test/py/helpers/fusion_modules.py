"""Writes graph-level modules for the scheduling tests: one small kernel per operation, as the importer makes
them.
"""

from dataclasses import dataclass, field

from fuse_mlir.compiler.index import Expr, const, parse
from fuse_mlir.compiler.ir.layout import TensorSpec

#: Pointwise operations of f32: name -> body over the loaded scalars %v0, %v1, giving %r.
POINTWISE = {
    "add": "%r = arith.addf %v0, %v1 : f32",
    "sub": "%r = arith.subf %v0, %v1 : f32",
    "mul": "%r = arith.mulf %v0, %v1 : f32",
    "neg": "%r = arith.negf %v0 : f32",
    "sin": "%r = math.sin %v0 : f32",
    "exp": (
        "%h = arith.constant 0.125 : f32\n    %s = arith.mulf %v0, %h : f32\n    "
        "%q = math.sin %s : f32\n    %r = math.exp %q : f32"
    ),
    "square_plus": (
        "%o = arith.constant 1.0 : f32\n    %s = arith.mulf %v0, %v0 : f32\n    %r = arith.addf %s, %o : f32"
    ),
    "div": "%r = arith.divf %v0, %v1 : f32",
    "rsqrt": "%r = math.rsqrt %v0 : f32",
}


@dataclass(frozen=True)
class Tensor:
    """A value of ``@main``: its SSA name and layout."""

    name: str
    spec: TensorSpec

    @property
    def sizes(self) -> tuple[Expr, ...]:
        return self.spec.sizes

    @property
    def type(self) -> str:
        return type_text(self.spec)


def type_text(spec: TensorSpec) -> str:
    shape = "x".join("?" if s.constant is None else str(s) for s in spec.sizes)
    shape = f"{shape}x{spec.element}" if shape else spec.element
    if spec.is_static and spec.is_contiguous:
        return f"tensor<{shape}>"
    sizes, strides = (",".join(map(str, e)) for e in (spec.sizes, spec.strides))
    return f'tensor<{shape}, #fuse.layout<"{sizes}", "{strides}", "{spec.offset}", "">>'


def exprs(sizes: "tuple[int | str | Expr, ...]") -> tuple[Expr, ...]:
    return tuple(s if isinstance(s, Expr) else parse(str(s)) for s in sizes)


@dataclass
class Graph:
    """Appends operations; ``text()`` is the module.

    ``symbols``: size symbols, arguments of ``@main`` after the tensors.
    """

    symbols: tuple[str, ...] = ()
    inputs: list[Tensor] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    count: int = 0

    def input(self, *sizes: "int | str") -> Tensor:
        tensor = Tensor(f"%a{len(self.inputs)}", TensorSpec.contiguous(exprs(sizes), "f32"))
        self.inputs.append(tensor)
        return tensor

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count - 1}"

    @property
    def symbol_operands(self) -> str:
        return "".join(f", %{s}" for s in self.symbols)

    def kernel(
        self,
        op: str,
        dims: tuple[Expr, ...],
        reads: list[tuple[Tensor, list[str], str]],
        body: str,
        out: tuple[Expr, ...],
        at: list[str],
        into: Tensor | None = None,
    ) -> Tensor:
        """A call of a new kernel: loads ``reads`` (tensor, coordinates, guard value) as %v0.., stores %r at
        ``at``.

        The result is a new tensor of sizes ``out``, or the new value of ``into``.
        """
        spec = into.spec if into is not None else TensorSpec.contiguous(out, "f32")
        name, result = self.fresh(f"{op}_"), self.fresh("%t")
        type_ = type_text(spec)
        index = "".join(f', %{s}: index {{fuse.sym = "{s}"}}' for s in self.symbols)
        if into is None:
            destination = self.fresh("%o")
            types = ", ".join("index" for _ in self.symbols)
            names = ", ".join(f'"{s}"' for s in self.symbols)
            self.lines.append(
                f'{destination} = "fuse.empty"({self.symbol_operands[2:]}) {{syms = [{names}]}} '
                f": ({types}) -> {type_}"
            )
        else:
            destination = into.name
        arguments = ", ".join(f"%x{i}: {t.type}" for i, (t, _, _) in enumerate(reads))
        comma = ", " if reads else ""
        loads = []
        for i, (t, coords, guard) in enumerate(reads):
            text = ", ".join(f'"{c}"' for c in coords)
            loads.append(
                f'%v{i} = "fuse.load"(%x{i}, {guard}, %zero) {{at = [{text}]}} : ({t.type}, i1, f32) -> f32'
            )
        guards = [] if "%r" not in body.partition("// loads")[2] else [body.partition("// loads")[0]]
        after = body.partition("// loads")[2] or body
        extents = ", ".join(f'd{i} = "{e}"' for i, e in enumerate(dims))
        stored = ", ".join(f'"{c}"' for c in at)
        lines = [
            *guards,
            *loads,
            after,
            f'%out = "fuse.store"(%dest, %r, %true) {{at = [{stored}], mode = "set"}} '
            f": ({type_}, f32, i1) -> {type_}",
        ]
        self.kernels.append(
            f"func.func private @{name}({arguments}{comma}%dest: {type_}{index}) -> {type_} attributes "
            f"{{fuse.kernel, fuse.dims = {{{extents}}}, fuse.ties = array<i64: {len(reads)}>}} {{\n"
            "    %true = arith.constant true\n"
            f"    %zero = arith.constant 0.0 : f32\n    "
            + "\n    ".join(lines)
            + f"\n    return %out : {type_}\n  }}"
        )
        operands = ", ".join([t.name for t, _, _ in reads] + [destination]) + self.symbol_operands
        types = ", ".join([t.type for t, _, _ in reads] + [type_] + ["index" for _ in self.symbols])
        self.lines.append(f'{result} = call @{name}({operands}) : ({types}) -> {type_} loc("{name}")')
        return Tensor(result, spec)

    def pointwise(self, op: str, *args: Tensor, into: Tensor | None = None) -> Tensor:
        """Elementwise with broadcasting, stored over the whole of ``into`` if given."""
        rank = max(len(a.sizes) for a in args)
        dims = [const(1)] * rank
        for a in args:
            for i, s in enumerate(a.sizes, rank - len(a.sizes)):
                dims[i] = s if dims[i] == 1 else dims[i]
        reads = []
        for a in args:
            shift = rank - len(a.sizes)
            reads.append((a, ["0" if s == 1 else f"d{i + shift}" for i, s in enumerate(a.sizes)], "%true"))
        return self.kernel(
            op, tuple(dims), reads, POINTWISE[op], tuple(dims), [f"d{i}" for i in range(rank)], into
        )

    def fill(self, value: float, *sizes: "int | str") -> Tensor:
        out = exprs(sizes)
        return self.kernel(
            "fill", out, [], f"%r = arith.constant {value:e} : f32", out, [f"d{i}" for i in range(len(out))]
        )

    def reduce(self, kind: str, x: Tensor, dims: tuple[int, ...], keep: bool = True) -> Tensor:
        names = [f"d{i}" for i in range(len(x.sizes))]
        over = ", ".join(f'"d{i}"' for i in dims)
        body = f'%r = "fuse.reduce"(%v0) {{kind = "{kind}", over = [{over}]}} : (f32) -> f32'
        out = [
            (const(1), "0") if i in dims else (s, names[i])
            for i, s in enumerate(x.sizes)
            if keep or i not in dims
        ]
        return self.kernel(
            kind, x.sizes, [(x, names, "%true")], body, tuple(s for s, _ in out), [c for _, c in out]
        )

    def cumsum(self, x: Tensor, dim: int) -> Tensor:
        names = [f"d{i}" for i in range(len(x.sizes))]
        body = f'%r = "fuse.scan"(%v0) {{kind = "sum", over = "d{dim}", reverse = false}} : (f32) -> f32'
        return self.kernel("cumsum", x.sizes, [(x, names, "%true")], body, x.sizes, names)

    def cat(self, a: Tensor, b: Tensor, dim: int) -> Tensor:
        """Two guarded loads and a select."""
        names = [f"d{i}" for i in range(len(a.sizes))]
        shifted = list(names)
        shifted[dim] = f"d{dim} - {a.sizes[dim]}"
        out = tuple(s + b.sizes[dim] if i == dim else s for i, s in enumerate(a.sizes))
        n = a.sizes[dim]
        body = (
            f'%i = "fuse.index"() {{expr = "d{dim} - {n}"}} : () -> i64\n    %c0 = arith.constant 0 : i64\n'
            "    %lo = arith.cmpi slt, %i, %c0 : i64\n    %hi = arith.cmpi sge, %i, %c0 : i64\n"
            "// loads\n    %r = arith.select %lo, %v0, %v1 : f32"
        )
        return self.kernel("cat", out, [(a, names, "%lo"), (b, shifted, "%hi")], body, out, names)

    def view(
        self,
        x: Tensor,
        sizes: "tuple[int | str | Expr, ...]",
        coords: list[str],
        strides: "tuple[int | str | Expr, ...]",
        offset: "int | str | Expr" = 0,
    ) -> Tensor:
        spec = TensorSpec(exprs(sizes), exprs(strides), exprs((offset,))[0], "f32")
        result = self.fresh("%t")
        text = ", ".join(f'"{c}"' for c in coords)
        names = ", ".join(f'"{s}"' for s in self.symbols)
        types = "".join(", index" for _ in self.symbols)
        self.lines.append(
            f'{result} = "fuse.view"({x.name}{self.symbol_operands}) {{map = [{text}], syms = [{names}]}} '
            f": ({x.type}{types}) -> {type_text(spec)}"
        )
        return Tensor(result, spec)

    def flip(self, x: Tensor, dim: int) -> Tensor:
        """The last first, along one dim."""
        names = [f"d{i}" for i in range(len(x.sizes))]
        reversed_ = [f"{s} - 1 - d{i}" if i == dim else f"d{i}" for i, s in enumerate(x.sizes)]
        body = "%one = arith.constant 1.0 : f32\n    %r = arith.mulf %v0, %one : f32"
        return self.kernel("flip", x.sizes, [(x, reversed_, "%true")], body, x.sizes, names)

    def transpose(self, x: Tensor, a: int, b: int) -> Tensor:
        order = list(range(len(x.sizes)))
        order[a], order[b] = order[b], order[a]
        sizes = tuple(x.sizes[i] for i in order)
        strides = tuple(x.spec.strides[i] for i in order)
        return self.view(x, sizes, [f"v{order.index(i)}" for i in range(len(order))], strides, x.spec.offset)

    def slice(self, x: Tensor, dim: int, start: int, length: int) -> Tensor:
        sizes = tuple(const(length) if i == dim else s for i, s in enumerate(x.sizes))
        coords = [f"v{i} + {start}" if i == dim else f"v{i}" for i in range(len(sizes))]
        return self.view(x, sizes, coords, x.spec.strides, x.spec.offset + x.spec.strides[dim] * start)

    def flatten(self, x: Tensor) -> Tensor:
        """All dims as one; of a contiguous tensor."""
        coords, rest = [], const(1)
        for s in reversed(x.sizes):
            coords.append(f"(v0 floordiv ({rest})) mod ({s})")
            rest = rest * s
        return self.view(x, (rest,), coords[::-1], (1,), 0)

    def text(self, *outputs: Tensor, mutates: "dict[int, int] | None" = None) -> str:
        """The module that returns ``outputs``; ``mutates``: output -> input that it is the new value of."""
        arguments = ", ".join(f"{t.name}: {t.type}" for t in self.inputs)
        arguments += "".join(
            f', %{s}: index {{fuse.sym = "{s}", fuse.min = 2 : i64, fuse.hint = 6 : i64}}'
            for s in self.symbols
        )
        types = ", ".join(t.type for t in outputs)
        pairs = ", ".join(f'"{r}" = {a} : i64' for r, a in (mutates or {}).items())
        attribute = f" {{fuse.mutates = {{{pairs}}}}}" if mutates else ""
        body = "\n    ".join(
            [*self.lines, f"return{attribute} {', '.join(t.name for t in outputs)} : {types}"]
        )
        if mutates:
            names = ", ".join(t.name for t in outputs)
            body = "\n    ".join(
                [*self.lines, f'"func.return"({names}) {{fuse.mutates = {{{pairs}}}}} : ({types}) -> ()']
            )
        kernels = "\n  ".join(self.kernels)
        main = f"func.func @main({arguments}) -> ({types}) {{\n    {body}\n  }}"
        return f'module attributes {{fuse.device = "cpu"}} {{\n  {main}\n  {kernels}\n}}\n'
