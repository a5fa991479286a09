"""``launch-early``: numbers on the interpreter, and what a GPU gets."""

import itertools

import pytest
import torch
from compiling import Compiled
from cubins import dumped, usage
from tiling_cases import parsed, run

from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.codegen.nvidia import is_early
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.passes.pipeline_text import parse_pipeline
from fuse_mlir.passes.tiling import launch_early

PASSES = "choose-tiling{hardware=h200},apply-tiling,combine-launches{hardware=h200}"
LOWERING = "plan-memory,lower-to-tt"
CHOICE = '{fuse.choice = [{nodes = ["mm"], rule = "kernel"}]}'


def tied(*dims: int) -> str:
    """Attributes of a scalar kernel over these dims, which stores to its third argument."""
    named = ", ".join(f'd{n} = "{dim}"' for n, dim in enumerate(dims))
    return f"attributes {{fuse.kernel, fuse.dims = {{{named}}}, fuse.ties = array<i64: 2>}}"


def module(rows: int, columns: int, element: str, summed: int = 1024) -> str:
    """Rows that are scaled by a row, and their product with weights of ``element``."""
    x, g, w = (
        f"tensor<{rows}x{summed}xbf16>",
        f"tensor<{summed}xbf16>",
        f"tensor<{columns}x{summed}x{element}>",
    )
    y = f"tensor<{rows}x{columns}xbf16>"
    if element == "i8":
        wide = "%v = arith.sitofp %b : i8 to f32"
    else:
        wide = "%v = arith.extf %b : bf16 to f32"
    return f"""module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%x: {x}, %g: {g}, %w: {w}) -> {y} {{
    %o = "fuse.empty"() {{syms = []}} : () -> {x}
    %s = call @scale(%x, %g, %o) : ({x}, {g}, {x}) -> {x}
    %p = "fuse.empty"() {{syms = []}} : () -> {y}
    %y = call @product(%s, %w, %p) {CHOICE} : ({x}, {w}, {y}) -> {y}
    return %y : {y}
  }}
  func.func private @scale(%x: {x}, %g: {g}, %o: {x}) -> {x} {tied(rows, summed)} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {{at = ["d0", "d1"]}} : ({x}, i1, bf16) -> bf16
    %b = "fuse.load"(%g, %true, %zero) {{at = ["d1"]}} : ({g}, i1, bf16) -> bf16
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %h = arith.truncf %m : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {{at = ["d0", "d1"], mode = "set"}} : ({x}, bf16, i1) -> {x}
    return %r : {x}
  }}
  func.func private @product(%x: {x}, %w: {w}, %o: {y}) -> {y}
      {tied(rows, columns, summed)} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant {"0" if element == "i8" else "0.0"} : {element}
    %a = "fuse.load"(%x, %true, %zero) {{at = ["d0", "d2"]}} : ({x}, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {{at = ["d1", "d2"]}} : ({w}, i1, {element}) -> {element}
    %u = arith.extf %a : bf16 to f32
    {wide}
    %q = arith.mulf %u, %v : f32
    %s = "fuse.reduce"(%q) {{kind = "sum", over = ["d2"]}} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {{at = ["d0", "d1"], mode = "set"}} : ({y}, bf16, i1) -> {y}
    return %r : {y}
  }}
}}"""


def lowered(text: str, *passes: str) -> ir.Module:
    made = parsed(text)
    with made.context, ir.Location.unknown():
        PassManager(list[Pass](parse_pipeline(f"builtin.module({','.join(passes)})"))).run(made)
    return made


@pytest.mark.parametrize(
    ("rows", "columns", "element"), itertools.product((1, 3), (192, 201), ("bf16", "i8"))
)
def test_nothing_but_the_launch_changes(
    rows: int, columns: int, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are the same bits, and those of float64 but for their rounding."""
    monkeypatch.setattr(launch_early, "_LEAST_WEIGHT", 1 << 15)
    draw = torch.Generator().manual_seed(rows + columns)
    x, g = (torch.randn(s, generator=draw).bfloat16() for s in ((rows, 256), (256,)))
    w = torch.randint(-9, 9, (columns, 256), generator=draw)
    w = w.to(torch.int8) if element == "i8" else (w / 8).bfloat16()
    text, early = (
        module(rows, columns, element, 256),
        "launch-early{hardware=h200}",
    )
    [plain], [tiled], [planned] = (
        run(lowered(text, *passes), [x, g, w])
        for passes in ((PASSES,), (PASSES, early), (PASSES, early, LOWERING))
    )
    assert plain.equal(tiled) and plain.equal(planned)
    wanted = (x.double() * g.double()).bfloat16().double() @ w.double().t()
    torch.testing.assert_close(planned.double(), wanted, rtol=2**-7, atol=0.1)
    assert str(lowered(text, PASSES, early)).count("griddepcontrol.wait") == 2


def test_rows_of_a_symbol() -> None:
    """A product takes the number of its rows, too, which is no tensor."""
    x, w = torch.randn(3, 64).bfloat16(), torch.randn(96, 64).bfloat16()
    torch._dynamo.mark_dynamic(x, 0)
    options = {"interpret_level": "planned", "hardware": "h200", "products": "generated", "strict": True}
    compiled = Compiled(lambda x, w: torch.nn.functional.linear(x * 2, w), options, None)
    torch.testing.assert_close(compiled(x, w), (x.double() * 2 @ w.double().t()).bfloat16())
    assert [r.rule for r in compiled.graphs[0].remarks.items if r.pass_name == "choose-libraries"] == [
        "kernel"
    ]


def test_what_a_gpu_gets(tmp_path) -> None:
    """The next launch may begin, then a program waits, and then it reads."""
    sources = kernel_sources(
        lowered(module(1, 1024, "bf16"), PASSES, "launch-early{hardware=h200}", LOWERING)
    )
    assert len(sources) == 2
    for source in sources.values():
        cubin = compile_ttir(source.text, target=Target(90), num_warps=source.num_warps, num_stages=1)
        assert is_early(cubin.ptx) and usage(cubin, tmp_path).spilled == 0
        sass = dumped(cubin, "-sass", tmp_path)
        places = [sass.index(op) for op in ("PREEXIT", "ACQBULK", "LDG")]
        assert places == sorted(places)
