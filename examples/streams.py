"""Draws when calls and collectives run, before and after ``overlap-collectives``:
`python examples/streams.py OUT.svg`.

The program gathers the weight of each of four products, as fully sharded training does.  Needs no GPU: the
times are those of the model, on two H200 of one host.
"""

import sys
from pathlib import Path

from fuse_mlir.compiler.analysis.program.dependences import Dependences
from fuse_mlir.compiler.analysis.program.overlap import overlap_order
from fuse_mlir.compiler.analysis.program.streams import Span
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.report.streams_svg import draw_streams
from fuse_mlir.passes.collectives.bucket_collectives import BucketCollectives
from fuse_mlir.passes.collectives.overlap_collectives import OverlapCollectives

LAYERS = 4
SHARD, WEIGHT, ROWS = "tensor<1024x2048xbf16>", "tensor<2048x2048xbf16>", "tensor<8192x2048xbf16>"
LAYER = """
    %a{n} = call @gather(%w{n}) : (SHARD) -> WEIGHT
    %b{n} = call @wait(%a{n}, %w{n}) : (WEIGHT, SHARD) -> WEIGHT
    %x{next} = call @mm(%x{n}, %b{n}) : (ROWS, WEIGHT) -> ROWS"""
FUNCTIONS = """
  func.func private @mm(ROWS, WEIGHT) -> ROWS attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(SHARD) -> WEIGHT attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.kwargs = {},
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>, 2, "0"]}
  func.func private @wait(WEIGHT, SHARD) -> WEIGHT attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
"""


def program() -> str:
    """The module as text."""
    weights = ", ".join(f"%w{n}: SHARD" for n in range(LAYERS))
    layers = "".join(LAYER.replace("{n}", str(n)).replace("{next}", str(n + 1)) for n in range(LAYERS))
    text = f"""module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%x0: ROWS, {weights}) -> ROWS {{{layers}
    return %x{LAYERS} : ROWS
  }}{FUNCTIONS}}}"""
    return text.replace("SHARD", SHARD).replace("WEIGHT", WEIGHT).replace("ROWS", ROWS)


def spans(module: ir.Module) -> list[Span]:
    """What runs when, by the model."""
    deps = Dependences.of(module)
    order = overlap_order(module, deps, hardware_named("h200"))
    return order.spans(order.given.order, {node.index: node.name for node in deps.nodes})


def picture() -> str:
    """The picture as SVG."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program())
        found = {"as the program has them": spans(module)}
        OverlapCollectives("h200", memory=100).run(module, Remarks())
        found["overlap-collectives"] = spans(module)
        module = ir.Module.parse(program())
        BucketCollectives("h200", memory=100).run(module, Remarks())
        OverlapCollectives("h200", memory=100).run(module, Remarks())
        found["bucket-collectives, then overlap-collectives"] = spans(module)
    return draw_streams(found)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture())
