"""Modules of sums and collectives, for tests of orders around these; no test itself."""

from fuse_mlir.compiler.analysis.program.collective_order import Flights
from fuse_mlir.compiler.analysis.program.dependences import Dependences
from fuse_mlir.compiler.analysis.program.overlap import OverlapOrder
from fuse_mlir.compiler.analysis.program.peak_order import StorageUses
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

H200 = hardware_named("h200")
T = "tensor<512x512xf32>"
DECLARATIONS = f"""
  func.func private @add({T}, {T}) -> {T} attributes {{fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {{}}}}
  func.func private @write({T}) -> {T} attributes {{fuse.extern = "aten.relu_.default",
      fuse.mutated = array<i64: 0>, fuse.aliases = {{"0" = 0 : i64}}, fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {{}}}}
  func.func private @start({T}) -> {T} attributes {{fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"],
      fuse.kwargs = {{}}}}
  func.func private @wait({T}, {T}) -> {T} attributes {{fuse.mutated = array<i64: 0>,
      fuse.held = array<i64: 1>, fuse.aliases = {{"0" = 0 : i64}},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {{}}}}
  func.func private @start_in_place({T}) -> {T} attributes {{fuse.effect, fuse.mutated = array<i64: 0>,
      fuse.aliases = {{"0" = 0 : i64}}, fuse.extern = "_c10d_functional.all_reduce_.default",
      fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {{}}}}
  func.func private @wait_in_place({T}) -> {T} attributes {{fuse.mutated = array<i64: 0>,
      fuse.aliases = {{"0" = 0 : i64}}, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {{}}}}
"""


def module(body: list[str], results: list[str]) -> ir.Module:
    types = ", ".join([T] * len(results))
    lines = "\n".join(f"    {line}" for line in body)
    text = f"""module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%a: {T}, %b: {T}) -> ({types}) {{
{lines}
    return {", ".join(results)} : {types}
  }}{DECLARATIONS}}}"""
    with make_context():
        return ir.Module.parse(text)


def timed(deps: Dependences, seconds: dict[int, float]) -> OverlapOrder:
    """Orders of nodes that take so long."""
    return OverlapOrder(StorageUses.of(deps, {}, without="wait"), Flights.of(deps), seconds)


def names(deps: Dependences, order: list[int]) -> list[str]:
    return [deps.nodes[n].name for n in order]
