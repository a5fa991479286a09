"""A product whose tile spills is tiled again, once Triton has compiled it."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu

from fuse_mlir.compiler.base.remarks import Remark, Remarks
from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.driver.spilled_tiles import MOST_TILES, SpilledTiles
from fuse_mlir.compiler.ir.chosen_tiles import ChosenTile
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.kernels import cubin
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin, CompileRequest
from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache
from fuse_mlir.compiler.runtime.kernels.triton_compile import TritonCompileError, kernel_name
from fuse_mlir.passes.pipeline import Spills
from fuse_mlir.passes.products import choose_libraries

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

Stack = Callable[[CompileRequest], int]
PAIR = ("k", "k")


@pytest.mark.parametrize(
    ("stacks", "names"),
    [
        ([0], ()),
        ([96, 0], ("k",)),
        ([96, 32, 0], PAIR),
        ([96, 32, 16, 8, 0], (*PAIR, "k")),  # no more tiles are tried
        ([32, 32, 0], ()),  # the array of a function: the first tile is as good
        ([96, 32, 32], ("k",)),
        ([96, 128, 128], ()),
        ([96, 128, 0], PAIR),  # a tile that spills more than the one before is not the last
    ],
)
def test_a_kernel_keeps_the_first_tile_that_takes_least_memory(
    stacks: list[int], names: tuple[str, ...]
) -> None:
    spilled, tried = SpilledTiles(100), 1
    while spilled.learn([("k", kernel(stacks[len(spilled.spills.kernels)])), ("other", kernel(0))]):
        tried += 1
    assert spilled.spills.kernels == names and tried <= MOST_TILES + 1


def kernel(stack: int, shared: int = 100) -> SimpleNamespace:
    return SimpleNamespace(stack=stack, shared=shared)


def chosen(text: str, last: bool = False) -> dict[str, ChosenTile]:
    return {"k": ChosenTile(text, "a.py:3", last)}


def test_each_tile_that_took_too_much_is_a_remark() -> None:
    spilled = SpilledTiles(100)
    assert spilled.learn([("k", kernel(96))], chosen("d0 grid 64"))
    assert spilled.learn([("k", kernel(32, 104))], chosen("d0 grid 32"))
    assert not spilled.learn([("k", kernel(0))], chosen("d0 grid 16"))
    first, second = spilled.remarks
    assert first == Remark(
        "choose-tiling",
        "missed",
        "spilled",
        "@k does not keep d0 grid 64: a thread takes 96 bytes of local memory",
        ("k",),
        ("a.py:3",),
        (("stack", 96),),
    )
    assert second.numbers == (("stack", 32), ("beyond", 4))
    assert second.message == (
        "@k does not keep d0 grid 32: a thread takes 32 bytes of local memory, "
        "a program 4 bytes more of shared memory than there is"
    )


def test_a_tile_that_is_kept_though_it_takes_too_much_is_a_remark() -> None:
    spilled = SpilledTiles(100)
    for stack in (96, 64, 128, 80):
        again = spilled.learn([("k", kernel(stack))])
    assert again
    assert [(r.kind, *dict(r.numbers).values()) for r in spilled.remarks] == [
        ("missed", 96), ("analysis", 64), ("missed", 128), ("missed", 80)
    ]  # fmt: skip
    assert spilled.remarks[1].message == "@k keeps a tile: a thread takes 64 bytes of local memory"


@pytest.mark.parametrize(("stack", "again"), [(120, False), (136, True)])
def test_a_few_registers_of_a_tile_that_spares_them(stack: int, again: bool) -> None:
    """They cost less than another tile, and no product goes back to the library for them."""
    spilled = SpilledTiles(100)
    tiles = {"k": ChosenTile("d0 grid 64", "a.py:3", not again, 128)}
    with make_context():
        assert ChosenTile.of(tiles["k"].attribute()) == tiles["k"]
    assert spilled.learn([("k", kernel(stack))], tiles, {"k": {"mm"}}) == again
    assert spilled.spills.products == () and not spilled.spills.kernels[1:]


@pytest.mark.parametrize(
    ("kernels", "products", "lost"),
    [
        ([kernel(168)], {"k": {"mm"}}, ("mm",)),
        ([kernel(0, 101)], {"k": {"mm"}}, ("mm",)),  # it cannot be launched
        ([kernel(40)], {"k": {"mm"}}, ()),  # an array may be all
        ([kernel(168)], {"k": set(), "other": {"mm_1"}}, ()),
        ([kernel(168)], {}, ()),  # a chain, or one that was measured
        ([kernel(168)], {"k": {"mm", "add"}}, ("add", "mm")),
    ],
)
def test_products_that_are_the_librarys(
    kernels: list[SimpleNamespace], products: dict[str, set[str]], lost: tuple[str, ...]
) -> None:
    spilled, tiles = SpilledTiles(100), chosen("d0 grid 64", last=True)
    assert spilled.learn([("k", k) for k in kernels], tiles, products) == bool(lost)
    assert spilled.spills.products == lost and [r.kind for r in spilled.remarks] == [
        "missed" if lost else "analysis"
    ]
    assert not spilled.learn([("k", kernel(0))], tiles, products)


def test_what_was_learnt_of_others_is_forgotten_with_a_product_that_is_the_librarys() -> None:
    """Their names may be those of other kernels then."""
    spilled = SpilledTiles(100)
    assert spilled.learn([("other", kernel(96))]) and spilled.spills.kernels == ("other",)
    tiles = chosen("d0 grid 64", last=True)
    assert spilled.learn([("k", kernel(168)), ("other", kernel(0))], tiles, {"k": {"mm"}})
    assert spilled.spills == Spills((), ("mm",))


def test_the_last_tile_and_a_measured_one_are_kept() -> None:
    spilled = SpilledTiles(100)
    assert not spilled.learn([("k", kernel(168))], chosen("64 -> 32", last=True))
    assert spilled.spills.kernels == () and [r.kind for r in spilled.remarks] == ["analysis"]


def test_shared_memory_beyond_what_there_is_is_too_much() -> None:
    spilled = SpilledTiles(100)
    combined = [("k", kernel(0, 101)), ("k", kernel(0, 64)), ("other", kernel(0, 100))]
    assert spilled.learn(combined) and spilled.spills.kernels == ("k",)
    assert not spilled.learn(
        [("k", kernel(0, 64)), ("other", kernel(0, 100))]
    ) and spilled.spills.kernels == ("k",)


@pytest.fixture
def compile_with(tmp_path: Path) -> Iterator[Callable[..., tuple[CompiledGraph, list[str]]]]:
    """Compiles a function as for a GPU, where ``stack`` says what spills; gives what Triton was asked for."""

    def run(
        function: Callable[..., object], stack: Stack, **options: object
    ) -> tuple[CompiledGraph, list[str]]:
        asked: list[str] = []

        def fake(request: CompileRequest) -> CompiledCubin:
            asked.append(request.text)
            return CompiledCubin(kernel_name(request.text), 90, b"x" * stack(request), "", (), 0, 4)

        cache = KernelCache(CacheFolder(tmp_path, ".kernel"), fake, "none")
        x, w = (torch.randn(512, 512, dtype=torch.bfloat16) for _ in range(2))
        with (
            made_up_gpu(),
            torch.no_grad(),
            mock.patch.object(load, "kernel_cache", lambda options: cache),
            mock.patch.object(cubin, "stack_bytes", len),
        ):
            compiled = Compiled(function, {"products": "generated", "program_cache": False, **options})
            compiled(x, w)
        return compiled.graphs[0], asked

    return run


def chosen_by_estimates() -> AbstractContextManager[object]:
    """With ``products="auto"``, those of a module for the CPU are calls, whatever the estimates say."""
    return mock.patch.object(choose_libraries, "device_of", lambda module: "cuda:0")


def both(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (x @ w).sigmoid(), x.float().softmax(-1)


def tiles(graph: CompiledGraph) -> list[str]:
    """The tiles of kernels with products."""
    found = (r for r in graph.remarks.items if r.pass_name == "choose-tiling")
    return [r.message.partition(": ")[2] for r in found if r.rule == "blocks-of-products"]


def wide(request: CompileRequest) -> int:
    """Bytes of local memory: tiles of 64 rows and 32 columns spill."""
    return 64 if "tensor<64x32xf32>" in request.text else 0


def test_the_next_tile_is_taken_where_one_spills(compile_with) -> None:
    graph, asked = compile_with(both, wide)
    assert tiles(graph) == ["d0 grid 32, d1 grid 32, d2 looped 128"]
    assert len(asked) == 3, "Triton compiles two tiles of the product, and the softmax once"
    assert sum(r.pass_name == "choose-libraries" for r in graph.remarks.items) == 1
    assert graph.launches_after == 2
    [said] = [r for r in graph.remarks.items if r.rule == "spilled"]
    [name] = [r.ops for r in graph.remarks.items if r.rule == "blocks-of-products"]
    assert (said.kind, said.ops, said.numbers) == ("missed", name, (("stack", 64),))
    assert "does not keep d0 grid 64, d1 grid 32, d2 looped 128: " in said.message
    assert "test_spilled_tiles.py" in str(said.locations)


def reworded() -> AbstractContextManager[object]:
    """Every remark that a pass makes says something else."""

    def add(self: Remarks, pass_name: str, kind: str, rule: str, message: str, **given: object) -> None:
        self.items.append(Remark("someone", kind, "reason", "something", ("x",), (), (("kernel_us", 0.0),)))

    return mock.patch.object(Remarks, "add", add)


def test_a_kernel_without_another_tile_is_lowered_once(compile_with) -> None:
    """A chain of wide products, which copies its weights for each block of rows."""

    sizes = ((1 << 18, 64), (64, 256), *6 * ((256, 256),), (256, 4))
    x, *weights = (torch.zeros(size, dtype=torch.bfloat16) for size in sizes)

    def layers(*others: torch.Tensor) -> torch.Tensor:
        y = x
        for w in weights[:-1]:
            y = (y @ w).relu()
        return y @ weights[-1]

    with chosen_by_estimates(), mock.patch.object(compilation, "lower", wraps=compilation.lower) as lower:
        graph, asked = compile_with(layers, lambda request: 168, products="auto")
    assert [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"] == [
        "weights-in-turn", "spilled"
    ]  # fmt: skip
    [said] = [r for r in graph.remarks.items if r.rule == "spilled"]
    assert (said.kind, said.numbers) == ("analysis", (("stack", 168),))
    assert (lower.call_count, len(asked)) == (1, 1)


def fewer_each_time() -> Stack:
    """Each kernel with products spills, each less than the one before."""
    left = iter(range(200, 0, -8))
    return lambda request: next(left) if "tt.dot" in request.text else 0


def spills(graph: CompiledGraph) -> list[Remark]:
    """Of each tile that took too much."""
    return [r for r in graph.remarks.items if (r.pass_name, r.rule) == ("choose-tiling", "spilled")]


def activated(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).tanh() * 2


def test_a_product_that_spills_with_each_tile_is_the_librarys(compile_with) -> None:
    with chosen_by_estimates(), mock.patch.object(compilation, "lower", wraps=compilation.lower) as lower:
        graph, asked = compile_with(activated, fewer_each_time(), products="auto")
    assert (graph.externs, graph.launches_after, lower.call_count) == (1, 1, MOST_TILES + 1)
    assert sum("tt.dot" in text for text in asked) == MOST_TILES
    reviewed = [r.rule for r in graph.remarks.items if r.pass_name == "review-libraries"]
    spilled = [(r.kind, r.numbers[0][1]) for r in spills(graph)]
    assert (reviewed, spilled) == (["spilled"], [("missed", n) for n in (200, 192, 184, 176)])
    [choice] = graph.launches[0].choices
    assert (choice.rule, choice.nodes, choice.revocable) == ("spilled", ("mm",), False)
    assert str(choice) == f"spilled: a kernel {choice.kernel_us} us, a call {choice.call_us} us"
    assert str(choice) in graph.schedule_svg("h200")


def test_no_remark_is_read(compile_with) -> None:
    """The programs are the same whatever remarks say: with another tile, and as a call of the library."""
    for function, stack, products in ((both, wide, "generated"), (activated, None, "auto")):
        found = []
        for words in (contextlib.nullcontext, reworded):
            with words(), chosen_by_estimates():
                graph, _ = compile_with(function, stack or fewer_each_time(), products=products)
            found.append((str(graph.module), graph.externs, [r.numbers for r in spills(graph)]))
        assert found[0] == found[1] and found[0][2]
        assert [r.message for r in graph.remarks.items if r.rule != "spilled"] != []


def test_all_products_of_a_launch_are_the_librarys(compile_with) -> None:
    """Two calls of one kernel, which share a launch."""

    def function(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return activated(x, w), activated(w, x)

    with chosen_by_estimates():
        graph, _ = compile_with(function, fewer_each_time(), products="auto")
    assert graph.externs == 2
    assert len(spills(graph)) == MOST_TILES
    assert [[c.rule for c in launch.choices] for launch in graph.launches[:2]] == [["spilled"], ["spilled"]]


@pytest.mark.parametrize(
    "stack", [lambda request: 96, lambda request: 40 - len(request.text) % 7], ids=["an array", "little"]
)
def test_a_kernel_that_may_not_spill_is_not_the_librarys(compile_with, stack: Stack) -> None:
    with chosen_by_estimates():
        graph, _ = compile_with(activated, stack, products="auto")
    assert graph.externs == 0


def test_a_product_that_no_estimate_chose_stays_a_kernel(compile_with) -> None:
    graph, asked = compile_with(activated, fewer_each_time())
    assert (graph.externs, len(asked)) == (0, MOST_TILES)
    kinds = [r.kind for r in spills(graph)]
    assert kinds == ["missed"] * (MOST_TILES - 1) + ["analysis"]


def test_the_next_tile_is_taken_where_a_combined_launch_spills(compile_with) -> None:
    graph, asked = compile_with(lambda x, w: (x @ w, w @ x), wide)
    assert graph.launches_after == 1 and len(asked) == 2
    assert tiles(graph) == ["d0 grid 32, d1 grid 32, d2 looped 128"]


def test_a_pipeline_of_the_user_is_run_once(compile_with) -> None:
    text = "choose-libraries{products=generated},fold-views,expand-dots,choose-tiling{hardware=h200},"
    text += "apply-tiling,plan-memory,lower-to-tt"
    graph, asked = compile_with(lambda x, w: x @ w, wide, pipeline=text)
    assert tiles(graph) == ["d0 grid 64, d1 grid 32, d2 looped 128"] and len(asked) == 1


def test_what_triton_rejects_is_raised_by_the_first_call(compile_with) -> None:
    def rejects(request: CompileRequest) -> int:
        raise TritonCompileError("k", "ttgir", "rejected")

    with pytest.raises(TritonCompileError, match="rejected"):
        compile_with(both, rejects)
