"""The search for tiles: which are tried, which wins, what is stored; all compute the same."""

import json
import random
import re
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from default_tiles import FUNCTIONS, at_tiles
from torch.nn import functional as F
from watching_stages import watched

import fuse_mlir
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm, blocks_for, ranked_blocks
from fuse_mlir.compiler.analysis.kernel.shape import KernelShape
from fuse_mlir.compiler.analysis.tiling.candidates import (
    MOST_ELEMENTS,
    MOST_OF_PRODUCTS,
    candidates,
    kernel_key,
    tiles_to_try,
)
from fuse_mlir.compiler.analysis.tiling.product_rules import ranked_tiles
from fuse_mlir.compiler.base.options import MODES, OptionError, Options
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.driver.searches.tiling_search import TilingSearch, _alone, _trial, _tunable
from fuse_mlir.compiler.ir.kernel import Kernel, is_kernel
from fuse_mlir.compiler.ir.layout import TensorSpec
from fuse_mlir.compiler.ir.storage import functions_of
from fuse_mlir.compiler.ir.tile import Axis, Tile
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.cache.entry_bytes import from_entry, to_entry
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.passes.pass_base import PassError
from fuse_mlir.passes.tiling.apply_tiling import apply_tiling
from fuse_mlir.passes.tiling.autotune_tiling import AutotuneTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling


def kernels(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations if is_kernel(op.operation)]


class Judge:
    """A measurer that prefers the trial with most warps, and remembers what it was asked."""

    def __init__(self, answer=None):
        self.asked, self.answer = [], answer

    def fastest(self, trials, deadline):
        self.asked.append(trials)
        if self.answer is not None:
            return self.answer(trials)
        return max(range(len(trials)), key=lambda i: (trials[i].source.num_warps, -i))


def searched(module: ir.Module, folder: Path, judge: Judge, seconds: float = 60.0) -> TilingSearch:
    search = TilingSearch(judge, folder / "tiles.json", CacheFolder(folder, ".tile"), "device", seconds)
    search.before_pass(0, ChooseTiling(), module)
    search.after_pass(0, ChooseTiling(), module)
    return search


def test_modes_are_torchs():
    assert list(MODES) == ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
    assert Options.of(mode="max-autotune").cudagraphs and Options.of(mode="max-autotune").autotune
    assert not Options.of(mode="max-autotune-no-cudagraphs").cudagraphs
    assert Options.of({"autotune_seconds": 3}).autotune_seconds == 3
    with pytest.raises(OptionError, match="deterministic excludes autotune"):
        Options.of({"deterministic": True, "autotune": True})


# --- candidates ---------------------------------------------------------------------------------------------


def test_candidates_of_a_flat_tile():
    default = Tile((Axis(("d0",), 1024, "grid"),), 4)
    found = candidates(default, lambda axis: None)
    assert found[0] == default and len(set(found)) == len(found)
    blocks = {(t.axes[0].block, t.num_warps) for t in found}
    assert {(1024, 8), (1024, 2), (2048, 4), (2048, 8), (512, 4), (512, 2)} <= blocks
    assert all(t.num_stages == 1 for t in found)


def test_a_row_may_be_looped_over_and_a_loop_held():
    row = Tile((Axis(("d0",), 1, "grid"), Axis(("d1",), 4096, "resident")), 8)
    kinds = {(t.axes[1].kind, t.axes[1].block) for t in candidates(row, lambda axis: 4096)}
    assert {("resident", 4096), ("looped", 2048), ("looped", 1024)} <= kinds
    loop = Tile((Axis(("d0",), 1, "grid"), Axis(("d1",), 1024, "looped")), 8, 2)
    kinds = {(t.axes[1].kind, t.axes[1].block) for t in candidates(loop, lambda axis: 5000)}
    assert ("resident", 8192) in kinds
    assert {t.num_stages for t in candidates(loop, lambda axis: None)} >= {1, 2, 3, 4}
    assert all(t.axes[1].kind == "looped" for t in candidates(loop, lambda axis: None))
    walk = Tile((Axis(("d0",), 4, "looped"), Axis(("d1",), 4096, "resident")), 16, 3, again=True)
    assert {t.again for t in candidates(walk, lambda axis: 8)} == {True, False}
    assert not any(t.problem(["d0", "d1"]) for t in candidates(walk, lambda axis: 8))


def test_candidates_keep_to_the_limits_and_are_tiles():
    big = Tile((Axis(("d0",), 1, "grid"), Axis(("d1",), 32768, "resident")), 32)
    for tile in candidates(big, lambda axis: 32768):
        assert tile.problem(("d0", "d1")) is None
        assert tile.elements <= MOST_ELEMENTS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_candidate_computes_the_same(name):
    module = at_tiles(name)
    generator = torch.Generator().manual_seed(0)
    with module.context, ir.Location.unknown():
        [func] = kernels(module)
        default = Tile.of(func.attributes["fuse.tile"])
        expected, checked = None, 0
        for tile in candidates(default, lambda axis: 96):
            alone = _alone(func, str(module.operation.attributes["fuse.device"]))
            copy = functions_of(alone)[ir.StringAttr(func.attributes["sym_name"]).value]
            copy.attributes["fuse.tile"] = tile.attribute()
            try:
                apply_tiling(copy)
            except PassError:
                assert tile != default
                continue
            generator.manual_seed(0)
            specs = [TensorSpec.of(a.type) for a in func.regions[0].blocks[0].arguments]
            inputs = [
                torch.randn(s.storage_elements.constant, generator=generator).as_strided(
                    [n.constant for n in s.sizes], [n.constant for n in s.strides]
                )
                for s in specs
            ]
            results = run_module(alone, inputs)
            expected = expected or results
            torch.testing.assert_close(results, expected, rtol=1e-4, atol=1e-4)
            checked += 1
    assert checked > 3


def test_products_try_the_tiles_that_are_estimated_to_be_the_fastest():
    module, h200 = at_tiles("product"), hardware_named("h200")
    x, w = torch.randn(64, 48), torch.randn(48, 80)
    right = F.relu(x.double() @ w.double()) + 1
    with module.context, ir.Location.unknown():
        [func] = kernels(module)
        default, shape = Tile.of(func.attributes["fuse.tile"]), KernelShape.of(Kernel.of(func))
        tried = tiles_to_try(default, shape, h200)
        assert tried[0] == default and 4 < len(set(tried)) == len(tried) <= MOST_OF_PRODUCTS
        assert set(tried[1:]) <= set(ranked_tiles(shape, h200, MOST_OF_PRODUCTS))
        for tile in tried[1::5]:
            alone = _alone(func, str(module.operation.attributes["fuse.device"]))
            copy = functions_of(alone)[ir.StringAttr(func.attributes["sym_name"]).value]
            copy.attributes["fuse.tile"] = tile.attribute()
            apply_tiling(copy)
            sizes = [ir.RankedTensorType(a.type).shape for a in func.regions[0].blocks[0].arguments]
            given = [{(64, 48): x, (48, 80): w}.get(tuple(s), torch.empty(64, 80)) for s in sizes]
            [found] = run_module(alone, given)
            torch.testing.assert_close(found.double(), right, rtol=1e-4, atol=1e-4)


def test_the_ranking_of_blocks_begins_with_those_that_are_chosen():
    h200 = hardware_named("h200")
    form = ProductForm(4096, 14336, 4096)
    ranked = ranked_blocks(form, h200, 16)
    assert ranked[0] == blocks_for(form, h200) and len(ranked) == 16
    assert [b.thread_sums for b in ranked[:1]] == [blocks_for(form, h200).thread_sums]


# --- the search ---------------------------------------------------------------------------------------------


def test_the_winner_is_written_stored_and_read_again(tmp_path):
    module, judge = at_tiles("softmax"), Judge()
    [func] = kernels(module)
    with watched() as told:
        search = searched(module, tmp_path, judge)
    assert ("search", "measuring tiles") in told  # which a terminal shows meanwhile
    [(key, text)] = json.loads((tmp_path / "tiles.json").read_text()).items()
    assert key == kernel_key(func) and search.measured == 1
    most = max(t.source.num_warps for t in judge.asked[0])
    with module.context:
        assert Tile.of(ir.Attribute.parse(text)).num_warps == most
    again = Judge()
    assert searched(module, tmp_path, again).winners == search.winners and again.asked == []
    with module.context:
        remarks = Remarks()
        AutotuneTiling(str(tmp_path / "tiles.json")).run(module, remarks)
        assert Tile.of(func.attributes["fuse.tile"]).num_warps == most
    assert [r.rule for r in remarks.items] == ["measured"]


def test_a_default_that_wins_is_stored_too_and_no_table_names_it(tmp_path):
    module = at_tiles("columns")
    assert searched(module, tmp_path, Judge(lambda trials: 0)).winners == {}
    again = Judge()
    assert searched(module, tmp_path, again).winners == {} and again.asked == []


def test_without_time_nothing_is_measured_or_stored(tmp_path):
    module, judge = at_tiles("pointwise"), Judge()
    search = searched(module, tmp_path, judge, seconds=0.0)
    assert search.winners == {} and judge.asked == [] and not search.complete
    assert searched(module, tmp_path, Judge(lambda trials: None)).winners == {}
    late = Judge()
    searched(module, tmp_path, late)
    assert late.asked, "what was not measured to the end is measured again"


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (random.Random(0).randbytes(80), "can't decode byte"),
        (b"{axes = []", "a tile that the search does not try"),
        (b"{axes = [], num_stages = 1 : i64, num_warps = 4 : i64}", "a tile that the search does not try"),
        (b"1000000000000", "a tile that the search does not try"),
    ],
    ids=["random bytes", "half", "another kernel's", "stages"],
)
def test_a_stored_tile_that_the_search_did_not_find_is_measured_again(stored, reason, tmp_path, told):
    module = at_tiles("softmax")
    first = searched(module, tmp_path, Judge())
    [path] = tmp_path.rglob("*.tile")
    right = path.read_bytes()
    if stored.isdigit():
        stored = re.sub(rb"num_stages = \d+", b"num_stages = " + stored, from_entry(path.name, right))
    path.write_bytes(to_entry(path.name, stored))
    again = Judge()
    assert searched(module, tmp_path, again).winners == first.winners and len(again.asked) == 1
    assert path.read_bytes() == right
    [line] = told()
    assert "is unreadable and will be made again" in line and reason in line


def test_damage_to_a_stored_tile_is_found(tmp_path, told):
    module = at_tiles("softmax")
    searched(module, tmp_path, Judge())
    [path] = tmp_path.rglob("*.tile")
    path.write_bytes(path.read_bytes().replace(b"num_warps = ", b"num_warps = 1"))
    again = Judge()
    searched(module, tmp_path, again)
    assert len(again.asked) == 1 and "do not match their checksum" in told()[0]


def test_without_a_cache_tiles_are_measured_each_time(tmp_path):
    module = at_tiles("columns")
    for _ in range(2):
        judge = Judge()
        search = TilingSearch(judge, tmp_path / "tiles.json", CacheFolder(None, ".tile"), "device", 60.0)
        search.after_pass(0, ChooseTiling(), module)
        assert len(judge.asked) == 1
    assert list(tmp_path.rglob("*.tile")) == []


def test_trials_hold_what_the_kernel_takes(tmp_path):
    module = at_tiles("columns")
    with module.context, ir.Location.unknown():
        [(func, hints)] = _tunable(module)
        trial = _trial(func, Tile.of(func.attributes["fuse.tile"]), hints, '"cpu"', "generic")
    assert [(a.element, a.elements) for a in trial.arguments] == [("f32", 12000), ("f32", 40), ("f32", 40)]
    assert trial.written == (2,) and len(trial.grid) == 3
    assert [kind for _, kind in trial.parameters] == ["ptr", "ptr", "ptr"]
    assert len(trial.source.signature) == len(trial.parameters)


def test_sizes_are_taken_at_their_hints():
    module = at_tiles("softmax", dynamic=True)
    with module.context, ir.Location.unknown():
        [(func, hints)] = _tunable(module)
        trial = _trial(func, Tile.of(func.attributes["fuse.tile"]), hints, '"cpu"', "generic")
    assert sorted(hints.values()) == [40, 96]
    assert [a.elements for a in trial.arguments if a.element] == [40 * 96, 96, 40 * 96]
    assert {a.value for a in trial.arguments if not a.element} == {40, 96}


def test_kernels_that_assert_are_left_alone(tmp_path):
    run = Compiled(lambda t, i: F.embedding(i, t) * 2, {"interpret_level": "scheduled"})
    run(torch.randn(9, 8), torch.tensor([1, 2]))
    module, judge = run.graphs[0].module, Judge()
    with module.context, ir.Location.unknown():
        ChooseTiling().run(module, Remarks())
    searched(module, tmp_path, judge)
    assert "cf.assert" in str(module) and judge.asked == []


@pytest.mark.parametrize(
    ("text", "match"),
    [("[1]", "is no table"), ("{", "is no table"), ('{"KEY": "{axes = []}"}', "no 'num_warps'"),
     ('{"KEY": "{axes = [], num_warps = 4 : i64, num_stages = 1 : i64}"}', "expected every dim"),
     ('{"KEY": "{axes = [{block = 64 : i64, dims = [\\"d0\\", \\"d1\\"], kind = \\"grid\\"}], '
      'num_warps = 4 : i64, num_stages = 1000000000000 : i64}"}', "expected 1 to 16 stages, got 1000"),
     ('{"KEY": "nonsense"}', "@")],
)  # fmt: skip
def test_a_bad_table_is_refused(tmp_path, text, match):
    module = at_tiles("pointwise")
    [func] = kernels(module)
    path = tmp_path / "table.json"
    path.write_text(text.replace("KEY", kernel_key(func)))
    with module.context, ir.Location.unknown(), pytest.raises(PassError, match=match):
        AutotuneTiling(str(path)).run(module, Remarks())


# --- on a GPU -----------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_max_autotune_computes_the_same_and_starts_warm(tmp_path):
    def f(x, w):
        y = F.layer_norm(x * w, (512,))
        return F.softmax(y, -1), y.sum(0)

    x, w = torch.randn(4096, 512, device="cuda"), torch.randn(512, device="cuda")
    expected = f(x, w)
    seconds = []
    for _ in range(2):
        torch._dynamo.reset()
        graphs = []
        options = {
            "autotune": True,
            "cache_dir": tmp_path,
            "on_compiled": graphs.append,
            "program_cache": False,
        }
        call = torch.compile(f, backend=fuse_mlir.backend, fullgraph=True, options=options)
        torch.testing.assert_close(call(x, w), expected, rtol=1e-3, atol=1e-3)
        seconds.append(sum(graphs[0].seconds.values()))
    assert seconds[1] < seconds[0]
    assert list(tmp_path.rglob("*.tile"))


def test_without_a_gpu_nothing_is_measured():
    compiled = Compiled(lambda x: (x * 2).sum(1), {"autotune": True})
    x = torch.randn(4, 8)
    torch.testing.assert_close(compiled(x), (x * 2).sum(1))
