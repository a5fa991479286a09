"""Kernels for the tests of tiling: a module around one scalar kernel, in short form, and ways to tile and run
it.
"""

from dataclasses import dataclass, field

import torch
from shared_context import shared_context

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling

Sizes = tuple[int | str, ...]

#: Chooses tiles and writes them out.
TILING = (ChooseTiling(), ApplyTiling())

SOFTMAX = """load x[d0, d1] -> v
fold max v[d1] -> m : f32
%c = arith.subf %v, %m : f32
%e = math.exp %c : f32
fold sum e[d1] -> s : f32
%q = arith.divf %e, %s : f32
store q -> o[d0, d1]"""

NORM = """load x[d0, d1] -> v
%n = arith.constant COUNT : f32
%eps = arith.constant 1.0e-05 : f32
fold sum v[d1] -> t : f32
%mean = arith.divf %t, %n : f32
%d = arith.subf %v, %mean : f32
%d2 = arith.mulf %d, %d : f32
fold sum d2[d1] -> m2 : f32
%var = arith.divf %m2, %n : f32
%ve = arith.addf %var, %eps : f32
%sd = math.rsqrt %ve : f32
%y = arith.mulf %d, %sd : f32
store y -> o[d0, d1]
store mean -> mu[d0]"""

#: The sum of each row, of which ``t`` has the first element, and an update of that element.
UPDATED = """%i = "fuse.index"() {expr = "d1"} : () -> i64
%one = arith.constant 1 : i64
%begins = arith.cmpi slt, %i, %one : i64
%first = "fuse.load"(%t, %begins, %zero) {at = ["d0"]} : (T, i1, f32) -> f32
load x[d0, d1] -> v
%w = arith.select %begins, %first, %v : f32
fold sum w[d1] -> s : f32
store s -> o[d0]
load t[d0] -> old
%new = arith.addf %old, %old : f32
store new -> u[d0]"""


def tensor(*sizes: int | str, element: str = "f32", strides: str | None = None) -> str:
    """A tensor type, row-major unless ``strides`` says otherwise; a size that is a string is symbolic."""
    shape = "".join("?x" if isinstance(n, str) else f"{n}x" for n in sizes)
    if strides is None and not any(isinstance(n, str) for n in sizes):
        return f"tensor<{shape}{element}>"
    if strides is None:
        factors = [str(n) for n in sizes]
        strides = ",".join("*".join(factors[i + 1 :]) or "1" for i in range(len(sizes)))
    return f'tensor<{shape}{element}, #fuse.layout<"{",".join(map(str, sizes))}", "{strides}", "0", "">>'


def updated(m: int, n: int, tile: str | None = None) -> "Case":
    """``UPDATED`` of m rows of n elements."""
    inputs, outputs = {"x": tensor(m, n), "t": tensor(m)}, {"o": tensor(m), "u": tensor(m)}
    body = UPDATED.replace("T,", f"{tensor(m)},")
    return Case({"d0": str(m), "d1": str(n)}, inputs, outputs, body, in_place={"u": "t"}, tile=tile)


@dataclass
class Case:
    """One kernel ``@k`` and a ``@main`` that calls it.

    ``body`` is MLIR where ``%true`` and ``%zero`` (f32) exist, and the lines ``load x[d0, d1] -> v`` and
    ``store v -> o[d0, d1]`` stand for unguarded accesses.  ``outputs`` named in ``in_place`` take over the
    storage of an input.
    """

    dims: dict[str, str]
    inputs: dict[str, str]
    outputs: dict[str, str]
    body: str
    sizes: dict[str, int] = field(default_factory=dict)  #: size symbol -> hint
    facts: str = ""  #: more attributes of the size arguments
    scalars: dict[str, str] = field(default_factory=dict)
    tile: str | None = None
    in_place: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The module's text."""
        fresh = {n: t for n, t in self.outputs.items() if n not in self.in_place}
        tensors = {**self.inputs, **fresh}
        symbols = [
            f'%{s}: index {{fuse.sym = "{s}", fuse.hint = {h} : i64{self.facts}}}'
            for s, h in self.sizes.items()
        ]
        names = [*tensors, *self.scalars]
        results = ", ".join(self.outputs.values())
        ties = ", ".join(str(names.index(self.in_place.get(n, n))) for n in self.outputs)
        dims = ", ".join(f'{n} = "{e}"' for n, e in self.dims.items())
        attributes = f"fuse.kernel, fuse.dims = {{{dims}}}, fuse.ties = array<i64: {ties}>" + (
            f", fuse.tile = {self.tile}" if self.tile else ""
        )
        main = [f"%{n}: {t}" for n, t in {**self.inputs, **self.scalars}.items()] + symbols
        inner = [f"%{n}: {t}" for n, t in {**tensors, **self.scalars}.items()] + symbols
        quoted, operands = ", ".join(f'"{s}"' for s in self.sizes), ", ".join(f"%{s}" for s in self.sizes)
        index = ", ".join("index" for _ in self.sizes)
        empties = [
            f'%{n} = "fuse.empty"({operands}) {{syms = [{quoted}]}} : ({index}) -> {t}'
            for n, t in fresh.items()
        ]
        call_types = ", ".join([*tensors.values(), *self.scalars.values(), *["index"] * len(self.sizes)])
        called = ", ".join(f"%{n}" for n in [*names, *self.sizes])
        several = len(self.outputs) > 1
        returned = ", ".join(f"%r#{i}" for i in range(len(self.outputs))) if several else "%r"
        mutated = ", ".join(
            f'"{i}" = {list(self.inputs).index(self.in_place[n])} : i64'
            for i, n in enumerate(self.outputs)
            if n in self.in_place
        )
        named = f"%r:{len(self.outputs)}" if several else "%r"
        mutates = f"fuse.mutates = {{{mutated}}}" if mutated else ""
        lines = [
            'module attributes {fuse.device = "cpu"} {',
            f"func.func @main({', '.join(main)}) -> ({results}) {{",
            *empties,
            f"{named} = call @k({called}) : ({call_types}) -> ({results})",
            f'"func.return"({returned}) {{{mutates}}} : ({results}) -> ()',
            "}",
            f"func.func private @k({', '.join(inner)}) -> ({results}) attributes {{{attributes}}} {{",
            "%true = arith.constant true",
            "%zero = arith.constant 0.0 : f32",
            *self._body(tensors),
            f"return {', '.join(f'%{n}_new' for n in self.outputs)} : {results}",
            "}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _body(self, types: dict[str, str]) -> list[str]:
        lines: list[str] = []
        zeros = {"f32": "%zero"}
        for line in (raw.strip() for raw in self.body.strip().splitlines()):
            if line.startswith("load "):
                source, _, result = line[5:].partition(" -> ")
                name, at = source.rstrip("]").split("[")
                value = _element(types[name]).removeprefix("u")
                if value not in zeros:
                    zeros[value] = f"%zero_{value}"
                    literal = "false" if value == "i1" else f"{'0.0' if value[0] in 'fb' else 0} : {value}"
                    lines.append(f"{zeros[value]} = arith.constant {literal}")
                operands = f"%{name}, %true, {zeros[value]}"
                signature = f"({types[name]}, i1, {value}) -> {value}"
                lines.append(f'%{result} = "fuse.load"({operands}) {{at = [{_coords(at)}]}} : {signature}')
            elif line.startswith("store "):
                value, _, target = line[6:].partition(" -> ")
                name, at = target.rstrip("]").split("[")
                argument = self.in_place.get(name, name)
                t = types[argument]
                signature = f"({t}, {_element(t).removeprefix('u')}, i1) -> {t}"
                operands = f"%{argument}, %{value}, %true"
                attributes = f'{{at = [{_coords(at)}], mode = "set"}}'
                lines.append(f'%{name}_new = "fuse.store"({operands}) {attributes} : {signature}')
            elif line.startswith("fold "):
                source, _, result = line[5:].partition(" -> ")
                kind, value = source.split(" ", 1)
                name, over = value.rstrip("]").split("[")
                result, element = result.split(" : ")
                attributes = f'{{kind = "{kind}", over = [{_coords(over)}]}}'
                lines.append(f'%{result} = "fuse.reduce"(%{name}) {attributes} : ({element}) -> {element}')
            else:
                lines.append(line)
        return lines


def _coords(at: str) -> str:
    return ", ".join(f'"{c.strip()}"' for c in at.split(",")) if at.strip() else ""


def _element(type_: str) -> str:
    return type_.removeprefix("tensor<").split(",")[0].removesuffix(">").split("x")[-1]


def axis(dims: str, block: int, kind: str) -> str:
    """One axis of ``fuse.tile``; ``dims`` separated by commas."""
    names = ", ".join(f'"{d}"' for d in dims.split(","))
    return f'{{dims = [{names}], block = {block} : i64, kind = "{kind}"}}'


def tile(*axes: str, num_warps: int = 4) -> str:
    """``fuse.tile``."""
    return f"{{axes = [{', '.join(axes)}], num_warps = {num_warps} : i64, num_stages = 1 : i64}}"


def parsed(text: str) -> ir.Module:
    """The module, verified, in the tests' context."""
    context = shared_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        verify(module)
    return module


def lowered(text: str, *passes: Pass) -> ir.Module:
    """The module after the passes."""
    module = parsed(text)
    with module.context, ir.Location.unknown():
        for p in passes:
            p.run(module, Remarks())
            verify(module)
    return module


def run(module: ir.Module, inputs: list, shadow: bool = False) -> list[torch.Tensor]:
    """Results of ``@main`` on copies of the inputs."""
    copies = [_copy(i) if isinstance(i, torch.Tensor) else i for i in inputs]
    with module.context, ir.Location.unknown():
        return [r.clone() for r in run_module(module, copies, shadow=shadow)]


def _copy(value: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)


def compare(
    text: str, inputs: list, *passes: Pass, exact: bool = False, rtol: float = 1e-5, atol: float = 1e-5
) -> list[torch.Tensor]:
    """Runs the module before and after the passes; the result is compared with float64, and with the scalar
    level bit by bit if ``exact``.
    """
    reference = run(parsed(text), inputs, shadow=True)
    scalar = run(parsed(text), inputs)
    tiled = run(lowered(text, *passes), inputs)
    for got, native, wide in zip(tiled, scalar, reference, strict=True):
        assert got.dtype == native.dtype and got.shape == native.shape
        if exact:
            torch.testing.assert_close(got, native, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(got.double(), wide.double(), rtol=rtol, atol=atol, equal_nan=True)
    return tiled


def pair(
    m: int, n: int, body: str, t: str | None = None, outputs: dict[str, str] | None = None, **more
) -> Case:
    """A kernel over m rows of n float32."""
    return Case(
        {"d0": str(m), "d1": str(n)},
        {"x": tensor(m, n)},
        outputs or {"o": tensor(m, n)},
        body,
        tile=t,
        **more,
    )


def rows(m: int, n: int, seed: int = 0) -> torch.Tensor:
    """Random rows."""
    return torch.randn(m, n, generator=torch.Generator().manual_seed(seed))


#: Ways to tile rows of n elements.
ROW_TILES = {
    "resident": lambda n: tile(axis("d0", 1, "grid"), axis("d1", 1 << (n - 1).bit_length(), "resident")),
    "resident rows": lambda n: tile(axis("d0", 4, "grid"), axis("d1", 1 << (n - 1).bit_length(), "resident")),
    "looped": lambda n: tile(axis("d0", 1, "grid"), axis("d1", 16, "looped")),
    "looped rows": lambda n: tile(axis("d0", 2, "grid"), axis("d1", 16, "looped")),
    "looped by one": lambda n: tile(axis("d0", 4, "grid"), axis("d1", 1, "looped")),
    "chosen": lambda n: None,
}
