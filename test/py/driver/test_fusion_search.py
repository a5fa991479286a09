"""The search for groups that are better apart: what is measured, what the table says, what is taken back."""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from fusion_checks import SYMBOLS, arguments
from fusion_modules import Graph, Tensor
from made_up_gpu import made_up_gpu
from repository import LIT
from watching_stages import watched

import fuse_mlir
from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.analysis.fusion.measured import PairKeys, read_measurements
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.driver.searches.fusion_search import FusionSearch, _changes
from fuse_mlir.compiler.driver.searches.graph_part import NoPart, part_of
from fuse_mlir.compiler.driver.searches.part_forms import GraphPart, form_of
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.kernel import is_kernel
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.gpu import load, program_timer, samples
from fuse_mlir.compiler.runtime.gpu.kernel_timer import KernelTimer
from fuse_mlir.compiler.runtime.gpu.program_form import ProgramForm, TensorArgument
from fuse_mlir.compiler.runtime.gpu.program_timer import FormTimes, ProgramTimer
from fuse_mlir.compiler.runtime.gpu.samples import ColdSamples
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

ROWS, COLUMNS = 4096, 1024
#: What a played compiler says of a kernel: its spilled bytes, None where it does not compile.
Spills = Callable[[str, ProgramForm], int | None]


def no_spills(name: str, form: ProgramForm) -> int | None:
    return 0


class Played:
    """A stopwatch that is told which forms are faster, by their kernels, and what spills."""

    def __init__(self, faster: Callable[[list[str]], float] = len, spills: Spills = no_spills) -> None:
        self.microseconds, self.spills = faster, spills
        self.compared: list[list[list[str]]] = []

    def start(self, form: ProgramForm):
        found = {name: self.spills(name, form) for name in form.sources}
        if None in found.values():
            return lambda: None
        kernels = {
            name: SimpleNamespace(cubin=SimpleNamespace(spilled=count, stack=count, shared=0))
            for name, count in found.items()
        }
        return lambda: kernels

    def compare(self, forms, deadline):
        names = [sorted(kernels) for _, kernels in forms]
        self.compared.append(names)
        times = tuple(float(self.microseconds(each)) for each in names)
        return FormTimes(min(range(len(times)), key=times.__getitem__), times)


def chain() -> tuple[Graph, tuple[Tensor, ...]]:
    """Two kernels that fuse by default, and of which little is saved: the first is also returned."""
    g = Graph()
    x, y, z = (g.input(ROWS, COLUMNS) for _ in range(3))
    first = g.pointwise("mul", x, y)
    return g, (first, g.pointwise("add", g.pointwise("sub", first, z), y))


def pair() -> str:
    """Two kernels, and nothing else that could merge."""
    g = Graph()
    x, y, z = (g.input(ROWS, COLUMNS) for _ in range(3))
    first = g.pointwise("mul", x, y)
    return g.text(first, g.pointwise("add", first, z))


def settings(folder: Path) -> Settings:
    return Settings("h200", fusions=str(folder / "fusions.json"))


def searched(text: str, folder: Path, watch: Played, seconds: float = 60.0) -> FusionSearch:
    told = settings(folder)
    passes = default_pipeline("planned", told)
    search = FusionSearch(
        watch, folder / "fusions.json", told, CacheFolder(folder / "cache", ".fusion"), "device", seconds
    )
    with make_context():
        module = ir.Module.parse(text)
        for number, p in enumerate(passes[: [p.name for p in passes].index("fuse-vertical") + 1]):
            search.before_pass(number, p, module)
            PassManager([p], verify_each=False).run(module)
    return search


def kernels(text: str, folder: Path, level: str = "scheduled") -> tuple[list[str], Remarks]:
    """The names of the kernels that the pipeline makes with the table, and its remarks."""
    passes = default_pipeline(level, settings(folder))
    with make_context():
        module = ir.Module.parse(text)
        remarks = PassManager(passes, verify_each=True).run(module)
        return [op.name.value for op in module.body.operations if is_kernel(op)], remarks


def apart_is_faster(names: list[str]) -> float:
    return 10.0 / len(names)


def test_what_is_faster_together_merges(tmp_path):
    g, outputs = chain()
    watch = Played()
    with watched() as told:
        search = searched(g.text(*outputs), tmp_path, watch)
    assert ("search", "measuring fusions") in told  # which a terminal shows meanwhile
    assert watch.compared and all(len(one) == 1 and len(two) == 2 for one, two in watch.compared)
    assert {m.why for m in search.found.values()} == {"faster"}
    names, remarks = kernels(g.text(*outputs), tmp_path)
    assert len(names) == 1 and "measured" not in {r.rule for r in remarks.items}


def test_what_is_slower_together_stays_apart_also_where_it_could_run_again(tmp_path):
    """``recompute-producers`` merges what stayed apart; not what was measured."""
    g, outputs = chain()
    search = searched(g.text(*outputs), tmp_path, Played(apart_is_faster))
    assert {m.why for m in search.found.values()} == {"slower"}
    names, remarks = kernels(g.text(*outputs), tmp_path)
    assert len(names) == 3
    told = [r for r in remarks.items if r.rule == "measured"]
    assert len(told) == 2, "once for each pair"
    assert dict(told[0].numbers) == {"us_together": 10.0, "us_apart": 5.0}


@pytest.mark.parametrize("which", ["first", "second", "fused"])
@pytest.mark.parametrize("faster", [True, False])
def test_what_spills_merges_only_if_it_is_faster(which, faster, tmp_path):
    text = pair()

    def spills(name: str, form: ProgramForm) -> int:
        fused = "first" in name and "second" in name
        return 64 * (fused if which == "fused" else which in name and not fused)

    watch = Played(len if faster else lambda names: 1.0, spills)
    search = searched(text, tmp_path, watch)
    assert [list(map(len, forms)) for forms in watch.compared] == [[2, 1]], "two kernels are the default"
    assert {m.why for m in search.found.values()} == {"faster" if faster else f"{which} spills"}
    assert all(dict(m.numbers)["spilled_bytes"] == 64 for m in search.found.values())
    names, remarks = kernels(text, tmp_path)
    assert len(names) == (1 if faster else 2)
    if not faster:
        assert f"the {which} kernel spills registers" in remarks.render("text")


def test_a_kernel_that_does_not_compile_is_said_once_and_no_error(tmp_path):
    text = pair()

    def refused(name: str, form: ProgramForm) -> int | None:
        return None if "first" in name and "second" in name else 0

    watch = Played(spills=refused)
    search = searched(text, tmp_path, watch)
    assert {m.why for m in search.found.values()} == {"not compiled"} and watch.compared == []
    _, remarks = kernels(text, tmp_path)
    assert len([r for r in remarks.items if "does not compile" in r.message]) == 1
    nothing = searched(text, tmp_path / "other", Played(spills=lambda name, form: None))
    assert nothing.found == {}, "two kernels that do not compile are no choice"


def test_results_are_stored(tmp_path):
    g, outputs = chain()
    first = searched(g.text(*outputs), tmp_path, Played(apart_is_faster))
    again = Played()
    assert searched(g.text(*outputs), tmp_path, again).found == first.found and again.compared == []
    assert read_measurements(json.loads((tmp_path / "fusions.json").read_text())) == first.found


def test_without_time_everything_is_as_by_default(tmp_path):
    g, outputs = chain()
    watch = Played(apart_is_faster)
    search = searched(g.text(*outputs), tmp_path, watch, seconds=0.0)
    assert search.found == {} and not search.complete and watch.compared == []
    late = Played(apart_is_faster)
    with mock.patch.object(late, "compare", lambda forms, deadline: None):
        search = searched(g.text(*outputs), tmp_path, late)
    assert search.found == {}, "what could not be measured is not stored"


def test_where_more_has_changed_all_is_measured_and_taken_back(tmp_path):
    """A pair that is faster apart, but not what becomes of the kernels around it."""
    g, outputs = chain()

    def misleading(names: list[str]) -> float:
        return len(names) if any(n.startswith(("k0", "fused_k0")) for n in names) else apart_is_faster(names)

    watch = Played(misleading)
    search = searched(g.text(*outputs), tmp_path, watch)
    assert any("k0" in name for form in watch.compared[-1] for name in form)
    assert {m.why for m in search.found.values()} == {"faster in all"}
    assert len(kernels(g.text(*outputs), tmp_path)[0]) == 1
    again = Played(misleading)
    assert searched(g.text(*outputs), tmp_path, again).found == search.found and again.compared == []


def test_changes_of_a_partition_are_the_smallest_that_cover_the_same_nodes():
    old = {(0, 1, 2), (3,), (4, 5), (6, 7), (8,)}
    new = {(0, 1), (2, 3), (4, 5), (6,), (7,), (8,)}
    assert sorted(_changes(old, new)) == [([(0, 1, 2), (3,)], [(0, 1), (2, 3)]), ([(6, 7)], [(6,), (7,)])]
    assert _changes(old, old) == []


@pytest.mark.parametrize("kind", ["add", "assert", "small"])
def test_atomics_asserts_and_small_kernels_are_not_measured_but_merge(kind, tmp_path):
    g, outputs = chain()
    text = g.text(*outputs)
    if kind == "add":
        text = text.replace('mode = "set"', 'mode = "add"')
    elif kind == "small":
        text = text.replace(f"{ROWS}x", "8x").replace(f'"{ROWS}"', '"8"')
    else:
        check = '"cf.assert"(%true) {msg = "no"} : (i1) -> ()\n    %out ='
        text = text.replace("%out =", check)
    watch = Played(apart_is_faster)
    search = searched(text, tmp_path, watch)
    assert search.found == {} and watch.compared == [] and search.complete


def test_graphs_with_collectives_are_not_measured(tmp_path):
    g, outputs = chain()
    text = g.text(*outputs).replace("func.func @main", "func.func @main")
    watch = Played(apart_is_faster)
    with mock.patch("fuse_mlir.compiler.analysis.program.dependences.Node.starts", True):
        assert searched(text, tmp_path, watch).found == {} and watch.compared == []


@pytest.mark.parametrize("library", [True, False])
def test_a_product_is_measured_with_its_group_against_the_library(library, tmp_path):
    text = (LIT / "passes" / "review-libraries.mlir").read_text(encoding="utf-8").partition("// -----")[0]

    def microseconds(names: list[str]) -> float:
        """The kernel of the group is one; beside the library's call are two."""
        return float((len(names) == 1) == library) if "k0" in names[0] else float(len(names))

    watch = Played(microseconds)
    search = searched(text, tmp_path, watch)
    [forms] = [forms for forms in watch.compared if any("k0" in name for name in forms[0])]
    assert len(forms[0]) == 1 and len(forms[1]) == 2, "the kernel, which the estimate chose, is the default"
    assert sorted(m.why for m in search.found.values()).count("slower") == library
    with make_context():
        module = ir.Module.parse(text)
        passes = default_pipeline("scheduled", settings(tmp_path))
        remarks = PassManager(passes, verify_each=True).run(module)
        assert ("aten.mm.default" in str(module)) == library
    [told] = [r for r in remarks.items if r.pass_name == "review-libraries"]
    assert (told.rule, told.kind) == ("measured", "passed" if library else "analysis")
    assert dict(told.numbers).keys() == {"kernel_us", "call_us"}


def test_keys_are_those_of_equal_pairs():
    """Names, and where in the graph the pair is, do not count; what is passed, and to whom, does."""
    g = Graph()
    x, y = g.input(ROWS, COLUMNS), g.input(ROWS, COLUMNS)
    pairs = [g.pointwise("add", g.pointwise("mul", a, b), a) for a, b in ((x, y), (y, x), (x, x))]
    kept = g.pointwise("mul", x, y)
    text = g.text(*pairs, kept, g.pointwise("add", kept, x))
    with make_context():
        module = ir.Module.parse(text)
        graph = GroupGraph.of(module)
        nodes = sorted(graph.summaries)
        keys = [PairKeys(graph)((a,), (b,)) for a, b in zip(nodes[::2], nodes[1::2], strict=True)]
    assert keys[0] == keys[1] and len(set(keys)) == 3


# --- parts of graphs ----------------------------------------------------------------------------------------


def reference(inputs: list) -> list[torch.Tensor]:
    x, y, z = (t.double() for t in inputs[:3])
    return [x * y, x * y - z + y]


@pytest.mark.parametrize("symbols", [(), ("s0", "s1")])
@pytest.mark.parametrize("together", [True, False])
def test_a_part_computes_what_its_calls_do(symbols, together):
    g = Graph(symbols)
    sizes = symbols or (6, 3)
    x, y, z = (g.input(*sizes) for _ in range(3))
    first = g.pointwise("mul", x, y)
    last = g.pointwise("add", g.pointwise("sub", first, z), y)
    inputs = arguments(g)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(g.pointwise("neg", last), first))
        graph = GroupGraph.of(module)
        a, b, c, _ = sorted(graph.summaries)
        part = part_of(module, graph, {"first": (a,), "second": (b, c)}, together)
        assert part.operation.verify()
        MaterializeFusion().run(part, Remarks())
        names = [op.name.value for op in part.body.operations if is_kernel(op)]
        results = run_module(part, [*inputs[:3], *(SYMBOLS[s] for s in symbols)])
    assert len(names) == 2 - together
    for found, expected in zip(results, reference(inputs), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-6)


def test_a_part_that_updates_an_argument_and_reads_views():
    """The view is of an argument of the part; the update has a tie to one."""
    g = Graph()
    x, y = g.input(6, 4), g.input(6, 4)
    first = g.pointwise("mul", g.slice(x, 0, 1, 3), g.slice(y, 0, 2, 3))
    second = g.pointwise("add", first, first)
    update = g.pointwise("neg", x, into=x)
    inputs = arguments(g)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(update, second, mutates={0: 0}))
        graph = GroupGraph.of(module)
        a, b, c = sorted(graph.summaries)
        part = part_of(module, graph, {"first": (a, b), "second": (c,)})
        results = run_module(part, [t.clone() for t in inputs])
    product = inputs[0][1:4].double() * inputs[1][2:5].double()
    found = {tuple(r.shape): r.double() for r in results}
    torch.testing.assert_close(found[3, 4], 2 * product, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found[6, 4], -inputs[0].double())


def test_no_part_takes_an_index_without_a_name():
    g = Graph(("s0",))
    x = g.input("s0", 4)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(g.pointwise("mul", x, x)))
        graph = GroupGraph.of(module)
        where = "fuse_mlir.compiler.driver.searches.graph_part.argument_attributes"
        nothing_said = mock.patch(where, lambda func: [{}] * 4)
        with nothing_said, pytest.raises(NoPart, match="an index without a name"):
            part_of(module, graph, {"first": tuple(graph.summaries)})


def test_a_form_has_its_sizes_at_their_hints(tmp_path):
    g = Graph(("s0", "s1"))
    x = g.input("s0", "s1")
    text = g.text(g.pointwise("add", g.pointwise("mul", x, x), x))
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        graph = GroupGraph.of(module)
        a, b = sorted(graph.summaries)
        part = GraphPart({"first": (a,), "second": (b,)})
        form, key = form_of(module, graph, part, settings(tmp_path))
    assert form.arguments == (TensorArgument("f32", (6, 6), (6, 1), 0), 6, 6)
    assert form.arguments[0].elements == 36 and len(form.sources) == 2 and len(key) == 32


# --- through the backend ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fresh_dynamo")
def test_max_autotune_measures_real_kernels_and_runs_what_won(tmp_path):
    def f(x, y, z):
        first = x * y
        return first, first - z

    compared, graphs = [], []

    def compare(self, forms, deadline):
        compared.append([sorted(kernels) for _, kernels in forms])
        return FormTimes(1, (3.0, 2.0))

    options = {"autotune": True, "cache_dir": tmp_path / "cache", "on_compiled": graphs.append}
    call = torch.compile(
        f, backend=fuse_mlir.backend, options={**options, "hardware": "h200", "dump": tmp_path / "dump"}
    )
    with (
        made_up_gpu() as launched,
        mock.patch.object(ProgramTimer, "compare", compare),
        mock.patch.object(KernelTimer, "fastest", lambda self, trials, deadline: 0),
    ):
        call(*(torch.randn(ROWS, COLUMNS) for _ in range(3)))
    assert compared and len(launched) == graphs[0].launches_after == 2
    assert "measured, one kernel takes longer than two" in graphs[0].remarks.render("text")
    [table] = (tmp_path / "dump").rglob("fusions.json")
    assert {m["why"] for m in json.loads(table.read_text()).values()} == {"slower"}
    assert list(tmp_path.rglob("*.fusion"))


class Clock:
    """Stands for CUDA's events: the time is how many kernels were launched, in tens of microseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, launched: list[str], free: int = 1 << 40) -> None:
        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = len(launched)

            def synchronize(self) -> None: ...

            def elapsed_time(self, end: "Event") -> float:
                return (end.at - self.at) / 100

        monkeypatch.setattr(samples, "FLUSH_BYTES", 64)
        monkeypatch.setattr(program_timer, "FLUSH_BYTES", 64)
        monkeypatch.setattr(ColdSamples, "place", torch.device("cpu"))
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free))


def forms_of(folder: Path, rows: int) -> list[ProgramForm]:
    """Two kernels and one of the same calls."""
    g = Graph()
    x = g.input(rows, 64)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(g.pointwise("add", g.pointwise("mul", x, x), x)))
        graph = GroupGraph.of(module)
        a, b = sorted(graph.summaries)
        part = GraphPart({"first": (a,), "second": (b,)})
        parts = (part, part._replace(together=True))
        return [form_of(module, graph, each, settings(folder))[0] for each in parts]


def test_the_timer_compiles_and_times_launch_plans(tmp_path, monkeypatch):
    options = Options(cache_dir=tmp_path / "cache", threads=1, cudagraphs=True, check_values="nan")
    with made_up_gpu() as launched:
        Clock(monkeypatch, launched)
        timer = ProgramTimer(0, options)
        compiled = [(form, timer.start(form)()) for form in forms_of(tmp_path, 64)]
        assert [sorted(kernels) for _, kernels in compiled] == [
            ["first_0", "second_0"],
            ["fused_first_second_0"],
        ]
        deadline = time.monotonic() + 60.0
        assert timer.compare(compiled, deadline) == FormTimes(1, (20.0, 10.0))
        assert timer.compare(compiled[::-1], deadline) == FormTimes(0, (10.0, 20.0))
        assert timer.compare(compiled, time.monotonic() - 1.0) is None
        Clock(monkeypatch, launched, free=100)
        assert timer.compare(compiled, deadline) is None, "memory is too small"
        Clock(monkeypatch, launched)
        with mock.patch.object(load, "load_kernels", side_effect=RuntimeError("too much shared memory")):
            assert timer.compare(compiled, deadline) is None
        wrong = replace(compiled[0][0].sources["first_0"], text="module {")
        refused = replace(compiled[0][0], sources={**compiled[0][0].sources, "first_0": wrong})
        assert timer.start(refused)() is None


@pytest.mark.gpu
@pytest.mark.usefixtures("fresh_dynamo")
def test_measured_groups_on_a_gpu_compute_the_same_and_are_stored(tmp_path):
    def f(x, y, w):
        z = torch.nn.functional.layer_norm(x * y + w, (1024,), w)
        return z, z.sum(0), torch.softmax(x - z, -1), (x * y).sum(1)

    args = [torch.randn(n, device="cuda") for n in ((4096, 1024), (4096, 1024), (1024,))]
    expected = f(*(a.double() for a in args))
    seconds = []
    for _ in range(2):
        torch._dynamo.reset()
        options = {"autotune": True, "cache_dir": tmp_path, "program_cache": False}
        start = time.monotonic()
        call = torch.compile(f, backend=fuse_mlir.backend, fullgraph=True, options=options)
        for found, right in zip(call(*args), expected, strict=True):
            torch.testing.assert_close(found.double(), right, rtol=1e-3, atol=1e-3)
        seconds.append(time.monotonic() - start)
    assert list(tmp_path.rglob("*.fusion")) and seconds[1] < seconds[0]


@pytest.mark.gpu
def test_the_timer_on_a_gpu_prefers_one_kernel_where_that_saves_bytes(tmp_path):
    g, outputs = chain()
    text = g.text(*outputs).replace('"cpu"', '"cuda:0"')
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        module.operation.attributes["fuse.device"] = ir.StringAttr.get("cuda:0")
        graph = GroupGraph.of(module)
        a, b, c = sorted(graph.summaries)
        told = settings(tmp_path)
        part = GraphPart({"first": (a, b), "second": (c,)})
        forms = [form_of(module, graph, each, told)[0] for each in (part, part._replace(together=True))]
    timer = ProgramTimer(0, Options(cache_dir=tmp_path))
    compiled = [(form, timer.start(form)()) for form in forms]
    found = timer.compare(compiled, time.monotonic() + 60.0)
    assert found is not None and found.winner == 1 and found.microseconds[1] < found.microseconds[0]
    assert timer.compare(compiled, time.monotonic() - 1.0) is None
