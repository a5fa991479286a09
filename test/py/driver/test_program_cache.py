"""Programs from the cache: what a hit loads and tells, what makes it a miss, what the key holds."""

import dataclasses
import functools
import hashlib
import logging
import pickle
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cached_files import damage
from made_up_gpu import CARDS, made_up_gpu
from new_process import python
from stored_programs import NOT_CACHED, NOT_IN_THE_KEY, compiled, entries, normed, other_value
from versions import TORCH

import fuse_mlir
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.driver import program_cache
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.driver.program_cache import program_key
from fuse_mlir.compiler.fx.graph_text import NotCacheable, graph_text
from fuse_mlir.compiler.runtime.cache.entry_bytes import from_entry, to_entry
from fuse_mlir.compiler.runtime.fx_output.kernels import kernel_of

#: Compiles and calls in a process of its own; says what was loaded and what the graph tells of itself.
PROGRAM = """
import sys
import torch
import torch._dynamo
from torch.nn import functional as F
from made_up_gpu import CARDS, made_up_gpu
import fuse_mlir

def model(x, w):
    y = F.layer_norm(x, (24,), w)
    return F.softmax(y @ y.T, -1), y.sum(0)

graphs = []
torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(3))
before = set(sys.modules)
with made_up_gpu() as launched:
    options = {"cache_dir": sys.argv[1], "on_compiled": graphs.append, "hardware": "h200"}
    call = torch.compile(model, backend=fuse_mlir.backend, options=options, dynamic=False)
    call(torch.ones(6, 24), torch.ones(24))
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
loaded |= {"rewrites" for name in sys.modules if name.startswith("fuse_mlir.compiler.rewrites.")}
[graph] = graphs
print(graph.cached)
print("loaded", sorted(loaded & {"mlir", "torch_mlir", "triton", "rewrites"}))
print(launched, graph.launches_before, graph.launches, graph.fallbacks)
print(graph.remarks.render("yaml"))
print(graph.source)
print(graph.module.operation.get_asm(enable_debug_info=True))
"""


# ---- hits --------------------------------------------------------------------------------------------------


def test_a_new_process_runs_a_stored_program_without_mlir_and_triton(tmp_path: Path) -> None:
    code = f"import sys; sys.argv[1:] = [{str(tmp_path)!r}]\n{PROGRAM}"
    first, second = (python(code, OMP_NUM_THREADS="1").splitlines() for _ in range(2))
    assert (first[0], second[0]) == ("False", "True")
    assert ("torch_mlir" in first[1] or "'mlir'" in first[1]) and "rewrites" in first[1]
    assert second[1] == "loaded []"
    assert first[2:] == second[2:] and len(first) > 50


def test_a_hit_tells_what_the_compilation_told(tmp_path: Path) -> None:
    first, second = compiled(tmp_path), compiled(tmp_path)
    assert (first.cached, second.cached) == (False, True)
    for name in ("name", "remarks", "fallbacks", "launches_before", "launches", "source", "externs"):
        assert getattr(first, name) == getattr(second, name), name
    here = normed.__code__.co_filename
    assert second.launches_after == 1 and any(here in str(line) for line in second.launches[0].lines)
    assert second.passes == () and "import" not in second.seconds
    assert str(first.module) == str(second.module)


def test_a_hit_gives_fx_output(tmp_path: Path) -> None:
    first, second = (compiled(tmp_path, output=output) for output in ("plan", "fx"))
    assert (first.cached, second.cached) == (False, True)
    assert first.fx().code == second.fx().code
    launches = [node for node in second.fx().graph.nodes if kernel_of(node) is not None]
    assert [kernel_of(node).ttir for node in launches] == [
        k.text for k in kernel_sources(first.module).values()
    ]


def test_both_graphs_of_a_training_step_are_stored(tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    ran = []
    for _ in range(2):
        torch._dynamo.reset()
        graphs: list[CompiledGraph] = []
        options = {"cache_dir": str(tmp_path), "on_compiled": graphs.append, "hardware": "h200"}
        with made_up_gpu() as launched:
            loss = torch.compile(module, backend=fuse_mlir.backend, options=options)(torch.ones(16, 32)).sum()
            backward = threading.Thread(target=loss.backward)  # as autograd does for CUDA
            backward.start()
            backward.join()
        ran.append((launched, [g.name for g in graphs], [g.cached for g in graphs]))
    assert ran[0][0] == ran[1][0] and len(ran[0][0]) > 1
    assert [r[1:] for r in ran] == [(["forward", "backward"], [cached, cached]) for cached in (False, True)]


# ---- misses ------------------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace_by_a_foreign_pickle(path: Path) -> None:
    class Foreign:
        def __reduce__(self) -> tuple[Any, ...]:
            return subprocess.run, (["touch", str(path.with_suffix(".executed"))],)

    path.write_bytes(to_entry(path.name, pickle.dumps(Foreign())))


def replace_by_another_entry(path: Path) -> None:
    body = from_entry(path.name, path.read_bytes())
    path.write_bytes(to_entry(path.name, body.replace(b'"kind":"ProgramData"', b'"kind":"InferenceLink"')))


def replace_by_another_schema(path: Path) -> None:
    body = from_entry(path.name, path.read_bytes())
    path.write_bytes(to_entry(path.name, body.replace(b'{"schema":2,', b'{"schema":1,')))


def replace_by_an_older_form(path: Path) -> None:
    body = from_entry(path.name, path.read_bytes())
    path.write_bytes(b"FUSEPROGRAM1\n" + hashlib.sha256(body).digest() + body)


@pytest.mark.parametrize(
    "spoil",
    [
        damage,
        truncate,
        replace_by_a_foreign_pickle,
        replace_by_another_entry,
        replace_by_another_schema,
        replace_by_an_older_form,
    ],
    ids=lambda f: f.__name__,
)
def test_an_entry_that_cannot_be_read_is_compiled_again(spoil: Any, tmp_path: Path, caplog: Any) -> None:
    compiled(tmp_path)
    [path] = entries(tmp_path, ".program")
    right = path.read_bytes()
    spoil(path)
    with caplog.at_level(logging.WARNING, logger="fuse_mlir"):
        assert not compiled(tmp_path).cached
    assert "is unreadable and will be made again" in caplog.text
    assert entries(tmp_path, ".executed") == []
    assert len(path.read_bytes()) == len(right) and compiled(tmp_path).cached


def test_a_program_without_its_kernels_is_compiled_again(tmp_path: Path) -> None:
    compiled(tmp_path)
    for path in entries(tmp_path, ".kernel"):
        path.unlink()
    assert not compiled(tmp_path).cached
    assert compiled(tmp_path).cached


def test_another_device_has_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    gm = traced(normed, torch.ones(6, 24), torch.ones(24))
    keys = set()
    h100 = "NVIDIA H100 80GB HBM3"
    for name, capability in (("NVIDIA H200", (9, 0)), (h100, (9, 0)), ("NVIDIA H200", (10, 0))):
        with made_up_gpu(name, capability):
            keys.add(program_key(gm, (), Options(), "cuda:0"))
    with made_up_gpu(h100), monkeypatch.context() as fewer:
        fewer.setitem(CARDS, h100, (66, *CARDS[h100][1:]))  # a slice of it, or another card of that name
        keys.add(program_key(gm, (), Options(), "cuda:0"))
    assert len(keys) == 4


def test_another_compiler_has_other_programs(monkeypatch: Any) -> None:
    gm = traced(normed, torch.ones(6, 24), torch.ones(24))
    with made_up_gpu():
        before = program_key(gm, (), Options(), "cuda:0")
        monkeypatch.setattr(program_cache, "toolchain", lambda: "another")
        assert program_key(gm, (), Options(), "cuda:0") != before


@pytest.mark.parametrize(
    "name, value",
    [
        ("DISABLE_PTXAS_OPT", "1"),
        ("PTXAS_OPTIONS", "-O0"),
        ("DISABLE_LLVM_OPT", "1"),
        ("TRITON_PTXAS_PATH", "/x"),
    ],
)
def test_other_settings_of_triton_have_other_programs(
    tmp_path: Path, monkeypatch: Any, name: str, value: str
) -> None:
    """What was compiled under them is not taken without them, nor the other way round."""
    monkeypatch.delenv(name, raising=False)
    cached = []
    for setting in (value, None, value, None):
        with monkeypatch.context() as now:
            if setting is not None:
                now.setenv(name, setting)
            cached.append(compiled(tmp_path).cached)
    assert cached == [False, False, True, True]


@pytest.mark.parametrize("source", ["compiler/mlir.py", "passes/pipeline.py"])
def test_other_sources_of_the_compiler_are_another_compiler(monkeypatch: Any, source: str) -> None:
    read, before = Path.read_bytes, program_cache._versions.__wrapped__()
    monkeypatch.setattr(Path, "read_bytes", lambda file: read(file) + b"#" * str(file).endswith(source))
    assert program_cache._versions.__wrapped__() != before


def test_products_that_may_round_float32_have_other_programs() -> None:
    gm = traced(normed, torch.ones(6, 24), torch.ones(24))
    matmul, keys = torch.backends.cuda.matmul, set()
    before = matmul.fp32_precision
    try:
        precisions = ("ieee", "tf32", *(["bfx9"] if TORCH >= (2, 15) else []))
        for precision in precisions:
            matmul.fp32_precision = precision
            with made_up_gpu():
                keys.add(program_key(gm, (), Options(), "cuda:0"))
    finally:
        matmul.fp32_precision = before
    assert len(keys) == len(precisions)


# ---- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Options)])
def test_every_option_is_in_the_key_or_has_a_reason_not_to_be(name: str) -> None:
    gm = traced(normed, torch.ones(6, 24), torch.ones(24))
    with made_up_gpu():
        default = program_key(gm, (), Options(), "cuda:0")
        if name in NOT_CACHED:
            with pytest.raises(NotCacheable):
                program_key(gm, (), Options(**{name: NOT_CACHED[name]}), "cuda:0")
        elif name not in NOT_IN_THE_KEY:
            assert program_key(gm, (), Options(**{name: other_value(name)}), "cuda:0") != default


def test_the_numeric_check_is_not_skipped_by_a_hit(tmp_path: Path) -> None:
    compiled(tmp_path)
    with made_up_gpu(), pytest.raises(NotCacheable, match="watches the passes"):
        gm = traced(normed, torch.ones(6, 24), torch.ones(24))
        program_key(gm, (), Options(verify="numeric"), "cuda:0")


# ---- graphs ------------------------------------------------------------------------------------------------


def traced(function: Any, *inputs: torch.Tensor, dynamic: bool = False) -> torch.fx.GraphModule:
    """What AOTAutograd makes of a function."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    from torch._dynamo.backends.common import aot_autograd

    torch._dynamo.reset()
    torch.compile(function, backend=aot_autograd(fw_compiler=keep), dynamic=dynamic)(*inputs)
    [gm] = graphs
    return gm


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2.0


def of_bytes(fast: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    one = torch.ones(1)
    return lambda x: torch._scaled_mm(x, x.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)


X, BYTES = torch.ones(8, 6), torch.ones(16, 16).to(torch.float8_e4m3fn)
GRAPHS = {
    "the graph": lambda: traced(doubled, X),
    "another factor": lambda: traced(lambda x: x * 3.0, X),
    "another op": lambda: traced(lambda x: x / 2.0, X),
    "another line": lambda: traced(lambda x: x * 2.0, X),
    "another type": lambda: traced(doubled, X.double()),
    "another size": lambda: traced(doubled, torch.ones(8, 7)),
    "other strides": lambda: traced(doubled, torch.ones(6, 8).T),
    "sizes that vary": lambda: traced(doubled, X, dynamic=True),
    "another hint": lambda: traced(doubled, torch.ones(9, 6), dynamic=True),
    "another result": lambda: traced(lambda x: (x * 2.0, x), X),
    "a product of bytes": lambda: traced(of_bytes(False), BYTES),
    "a fast accumulation": lambda: traced(of_bytes(True), BYTES),
}


def test_the_key_tells_graphs_apart_and_only_those() -> None:
    texts = {name: graph_text(make()) for name, make in GRAPHS.items()}
    assert len(set(texts.values())) == len(texts)
    assert graph_text(GRAPHS["the graph"]()) == texts["the graph"]
    assert graph_text(GRAPHS["sizes that vary"]()) == texts["sizes that vary"]


def test_what_only_this_process_has_is_not_stored(tmp_path: Path, caplog: Any) -> None:
    from torch._higher_order_ops.map import map

    def branched(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return map(lambda row: row.sin(), x)

    with caplog.at_level(logging.INFO, logger="fuse_mlir"):
        compiled(tmp_path, branched)
        assert not compiled(tmp_path, branched).cached
    assert "the program cache is passed by" in caplog.text
    assert entries(tmp_path, ".program") == []


def branching(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: (x.sin() + 1) * w, lambda x: x.cos() * 2, (x,))


def branching_otherwise(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: (x.sin() + 1) * w, lambda x: x.cos() * 3, (x,))


def test_sub_graphs_are_stored_with_the_program(tmp_path: Path) -> None:
    first, second = compiled(tmp_path, branching), compiled(tmp_path, branching)
    assert (first.cached, second.cached) == (False, True)
    assert first.source == second.source and "def control_flow_cond(" in second.source
    assert first.launches == second.launches and str(first.module) == str(second.module)
    assert any(launch.name.startswith("true_graph_0.") for launch in second.launches)
    assert not compiled(tmp_path, branching_otherwise).cached


@pytest.mark.parametrize("version", [1, 2], ids="auto_functionalized_v{}".format)
def test_calls_of_ops_that_write_are_stored(tmp_path: Path, version: int) -> None:
    """In place (``mutating-calls``), or as torch's op that copies first; another schema or name is a miss."""

    def registered(name: str, schema: str) -> Any:
        library = torch.library.Library("fuse_tests_stored", "FRAGMENT")
        library.define(f"{name}{schema}", tags=torch.Tag.pt2_compliant_tag)
        library.impl(name, lambda x, y, *_: (x.add_(y.sum()), None)[1], "CompositeExplicitAutograd")
        return library

    def writing(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        made = x * 2
        getattr(torch.ops.fuse_tests_stored, called)(made[0], w)
        torch.ops.fuse_tests_stored.add_(x, w)
        return made + 1

    called, found = "add_", []
    schema, changed = "(Tensor(a!) x, Tensor y) -> ()", "(Tensor(a!) x, Tensor y, int n=1) -> ()"
    with torch._inductor.config.patch(enable_auto_functionalized_v2=version == 2):
        for name, text in (("add_", schema), ("add_", schema), ("add_", changed), ("sum_", changed)):
            libraries = [registered(n, text) for n in {"add_", name}]
            called = name
            graph = compiled(tmp_path, writing)
            found.append(graph.cached)
            assert ("auto_functionalized" in graph.source) == (version == 1)
            for library in libraries:
                library._destroy()
    assert found == [False, True, False, False]


def test_branches_of_a_switch_are_stored_with_the_program(tmp_path: Path) -> None:
    torchs = pytest.importorskip("torch._higher_order_ops.switch", reason="torch has it from 2.14 on")

    def switching(x: torch.Tensor, w: torch.Tensor, last: int = 2) -> torch.Tensor:
        branches = (torch.sin, lambda x: x * w, lambda x: x.cos() * last)
        return torchs.switch((x > 0).sum(), branches, (x,))

    first, second = compiled(tmp_path, switching), compiled(tmp_path, switching)
    assert (first.cached, second.cached) == (False, True)
    assert first.source == second.source and "def control_flow_switch(" in second.source
    assert not compiled(tmp_path, functools.partial(switching, last=3)).cached


GPU = """
import sys
import torch
import fuse_mlir
graphs = []
def model(x, w):
    return torch.nn.functional.layer_norm(x @ w, (64,)).relu().sum(0)
torch.manual_seed(0)
x, w = torch.randn(96, 32, device="cuda"), torch.randn(32, 64, device="cuda")
options = {"cache_dir": sys.argv[1], "on_compiled": graphs.append}
result = torch.compile(model, backend=fuse_mlir.backend, options=options)(x, w)
torch.testing.assert_close(result.double(), model(x.double(), w.double()), rtol=1e-4, atol=1e-4)
print(graphs[0].cached, "torch_mlir" in sys.modules, result.cpu().view(torch.int32).tolist())
"""


@pytest.mark.gpu
def test_a_stored_program_gives_the_same_bits(tmp_path: Path) -> None:
    code = f"import sys; sys.argv[1:] = [{str(tmp_path)!r}]\n{GPU}"
    first, second = (python(code).split(maxsplit=2) for _ in range(2))
    assert first[:2] == ["False", "True"] and second[:2] == ["True", "False"]
    assert first[2] == second[2]
