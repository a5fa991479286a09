"""Programs found by the graph that Dynamo captured: what a hit leaves out, what is none, what is the key."""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up_gpu import made_up_gpu
from stored_programs import NOT_CACHED, NOT_IN_THE_KEY, compiled, entries, other_value
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.driver import cache_hit, captured_compilation, program_cache
from fuse_mlir.compiler.driver.program_cache import captured_key
from fuse_mlir.compiler.fx.captured_text import captured_text
from fuse_mlir.compiler.fx.graph_text import NotCacheable
from fuse_mlir.compiler.fx.torch_state import torch_state
from fuse_mlir.compiler.runtime.cache import cache_folder

X, W = torch.ones(6, 24), torch.ones(24)


def normed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    pooled = F.max_pool2d(x.reshape(1, 1, 6, 24), 2)
    return F.layer_norm(x, (24,), w).relu()[..., 1:], pooled.view(3, 12).matmul(x.T[:12])


def captured(function: Callable[..., Any], *inputs: Any, **options: Any) -> tuple[Any, list[Any]]:
    """What Dynamo hands to a backend: the graph and its inputs."""
    found: list[Any] = []

    def keep(gm: torch.fx.GraphModule, examples: list[Any]) -> Any:
        found.append((gm, list(examples), captured_key_of(gm, examples)))
        return gm.forward

    torch._dynamo.reset()
    torch.compile(function, backend=keep, **{"dynamic": False, **options})(*inputs)
    [(gm, examples, key)] = found
    return key if isinstance(key, str) else str(key), [gm, examples]


def captured_key_of(gm: torch.fx.GraphModule, examples: list[Any], **options: Any) -> str | NotCacheable:
    try:
        with made_up_gpu():
            return captured_key(gm, examples, Options(**options), "cuda:0")
    except NotCacheable as reason:
        return reason


def key(function: Callable[..., Any], *inputs: Any, **options: Any) -> str:
    """The key, or why there is none."""
    return captured(function, *inputs, **options)[0]


# ---- hits --------------------------------------------------------------------------------------------------


def test_a_hit_runs_no_autograd_and_no_rewrite(tmp_path: Path, monkeypatch: Any) -> None:
    first = compiled(tmp_path, normed)
    assert not first.cached and len(entries(tmp_path, ".captured")) == 1

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a hit needs none of it")

    monkeypatch.setattr(cache_hit, "aot_autograd", refuse)
    monkeypatch.setattr(captured_compilation, "compile_captured", refuse)
    monkeypatch.setattr(program_cache, "graph_text", refuse)
    second = compiled(tmp_path, normed)
    assert second.cached and set(second.seconds) == {"cache", "load"}
    for name in ("name", "remarks", "fallbacks", "launches_before", "launches", "source", "strides"):
        assert getattr(first, name) == getattr(second, name), name


def test_a_hit_opens_two_files_and_one_for_each_kernel(tmp_path: Path, monkeypatch: Any) -> None:
    compiled(tmp_path, normed)
    opened: list[str] = []
    read = cache_folder.read_file
    with monkeypatch.context() as patch:
        patch.setattr(cache_folder, "read_file", lambda n, *a, **k: (opened.append(n), read(n, *a, **k))[1])
        assert compiled(tmp_path, normed).cached
    inside = [Path(name).suffix for name in opened]
    kernels = len(entries(tmp_path, ".kernel"))
    assert kernels and sorted(inside) == sorted([".captured", ".program", *[".kernel"] * kernels])


def test_a_link_that_leads_nowhere_is_a_miss(tmp_path: Path) -> None:
    compiled(tmp_path, normed)
    [link] = entries(tmp_path, ".captured")
    right = link.read_bytes()
    for wrong in (b"", b"\xff" * 64, entries(tmp_path, ".program")[0].read_bytes(), right[:-1]):
        link.write_bytes(wrong)
        again = compiled(tmp_path, normed)
        assert again.cached and link.read_bytes() == right  # by what AOTAutograd makes, and linked anew
    entries(tmp_path, ".program")[0].unlink()
    assert not compiled(tmp_path, normed).cached and compiled(tmp_path, normed).cached


# ---- graphs that only AOTAutograd can name -----------------------------------------------------------------


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([1.0, 2.0])


def in_place(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    x.mul_(w)
    return x + 1


def test_a_hit_counts_the_versions_of_what_it_writes(tmp_path: Path) -> None:
    for cached in (False, True):
        x = torch.ones(6, 24)
        torch._dynamo.reset()
        graphs: list[Any] = []
        options = {"cache_dir": str(tmp_path), "on_compiled": graphs.append, "hardware": "h200"}
        with made_up_gpu():
            torch.compile(in_place, backend=fuse_mlir.backend, options=options, dynamic=False)(
                x, torch.ones(24)
            )
        assert graphs[0].cached == cached and x._version == 1
        assert ("load" in graphs[0].seconds) == cached and len(entries(tmp_path, ".captured")) == 1


def overlapping(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return w + 1


def test_what_overlaps_is_not_linked_where_it_is_written(tmp_path: Path) -> None:
    torch._dynamo.reset()
    both = torch.ones(48)
    with made_up_gpu():
        options = {"cache_dir": str(tmp_path), "hardware": "h200"}
        call = torch.compile(overlapping, backend=fuse_mlir.backend, options=options, dynamic=False)
        call(both[:24], both[24:])
    assert entries(tmp_path, ".captured") == []


def view_of_an_input(x: torch.Tensor, w: torch.Tensor) -> Any:
    return x.view(24, 6), x * w


@pytest.mark.parametrize("function", [view_of_an_input])
def test_what_needs_a_wrapper_is_not_linked(function: Any, tmp_path: Path) -> None:
    compiled(tmp_path, function)
    assert entries(tmp_path, ".captured") == []
    assert compiled(tmp_path, function).cached


@torch.library.custom_op("captured_programs::half", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@half.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.T


def branched(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


class Tagged(torch.Tensor):
    """A subclass without behaviour of its own."""


REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "sizes that vary": (lambda: key(torch.sin, X, dynamic=True), "a size that is not known|an input of type"),
    "an operator of another library": (lambda: key(lambda x: half(x), X), "half"),
    "a sub-graph": (lambda: key(branched, X), "a graph inside the graph"),
    "a subclass": (lambda: key(lambda x: x + 1, X.as_subclass(Tagged)), "Tagged|function"),
    "complex conjugate": (lambda: key(lambda x: x + 1, torch.ones(3, dtype=torch.cfloat).conj()), "conjug"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_text_cannot_say_has_no_key(name: str) -> None:
    make, reason = REFUSED[name]
    with contextlib.suppress(torch._dynamo.exc.Unsupported):
        found = make()
        assert any(part in found for part in reason.split("|")), found


def test_autocast_around_a_graph_has_no_key() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert key(lambda x: x @ x.T, X) == "autocast"
    assert len(key(autocast, X)) == 64  # inside it is said by the graph


def test_functions_that_are_not_torchs_have_no_name() -> None:
    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    mine.__module__ = "torch.nn.functional"
    for target in (mine, torch.Generator().manual_seed, lambda x: x, Path.exists):
        gm = torch.fx.symbolic_trace(torch.nn.Identity())
        with gm.graph.inserting_before(gm.graph.find_nodes(op="output")[0]):
            node = gm.graph.call_function(target, (gm.graph.find_nodes(op="placeholder")[0],))
        gm.graph.find_nodes(op="placeholder")[0].meta["example_value"] = X
        node.meta["example_value"] = X
        with pytest.raises(NotCacheable, match="the function"):
            captured_text(gm, [X])


# ---- keys --------------------------------------------------------------------------------------------------


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2.0


def added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def key_without_gradients(x: torch.Tensor) -> str:
    with torch.no_grad():
        return key(doubled, x)


GRAPHS: dict[str, Callable[[], str]] = {
    "the graph": lambda: key(doubled, X),
    "another factor": lambda: key(lambda x: x * 3.0, X),
    "an integer": lambda: key(lambda x: x * 2, X),
    "another op": lambda: key(lambda x: x / 2.0, X),
    "a method": lambda: key(lambda x: x.mul(2.0), X),
    "another type": lambda: key(doubled, X.double()),
    "another size": lambda: key(doubled, torch.ones(8, 7)),
    "other strides": lambda: key(doubled, torch.ones(24, 6).T),
    "another result": lambda: key(lambda x: (x * 2.0, x + 0), X),
    "gradients": lambda: key(doubled, torch.ones(6, 24).requires_grad_()),
    "a parameter": lambda: key_without_gradients(torch.nn.Parameter(X)),
    "no grad": lambda: key_without_gradients(X),
    "two inputs": lambda: key(added, X, X.clone()),
    "two views of one storage": lambda: key(added, X.view(6, 24), X.view(6, 24)),
}


def test_the_key_tells_graphs_apart_and_only_those() -> None:
    keys = {name: make() for name, make in GRAPHS.items()}
    assert {name: found for name, found in keys.items() if len(found) != 64} == {}
    assert len(set(keys.values())) == len(keys)
    assert GRAPHS["the graph"]() == keys["the graph"]


@contextlib.contextmanager
def changed(read: Callable[[], Any], write: Callable[[Any], Any], value: Any) -> Any:
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


def switched(backend: Any, name: str, value: Any) -> Any:
    """One of torch's switches, for as long as the context lasts."""
    return changed(lambda: getattr(backend, name), lambda v: setattr(backend, name, v), value)


CUDA, MATMUL = torch.backends.cuda, torch.backends.cuda.matmul
STATES: dict[str, Callable[[], Any]] = {
    "no grad": torch.no_grad,
    "default dtype": lambda: changed(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "flash": lambda: changed(CUDA.flash_sdp_enabled, CUDA.enable_flash_sdp, not CUDA.flash_sdp_enabled()),
    "efficient": lambda: changed(CUDA.mem_efficient_sdp_enabled, CUDA.enable_mem_efficient_sdp, False),
    "cudnn attention": lambda: changed(CUDA.cudnn_sdp_enabled, CUDA.enable_cudnn_sdp, False),
    "16-bit attention": lambda: changed(
        CUDA.fp16_bf16_reduction_math_sdp_allowed, CUDA.allow_fp16_bf16_reduction_math_sdp, True
    ),
    "math": lambda: changed(CUDA.math_sdp_enabled, CUDA.enable_math_sdp, False),
    "cudnn": lambda: torch.backends.cudnn.flags(enabled=False),
    "products in TF32": lambda: switched(MATMUL, "fp32_precision", "tf32"),
    "convolutions in TF32": lambda: switched(torch.backends.cudnn.conv, "fp32_precision", "ieee"),
    "16-bit sums": lambda: switched(MATMUL, "allow_bf16_reduced_precision_reduction", False),
    "functorch": lambda: torch._functorch.config.patch(functionalize_rng_ops=True),
    "budget of memory": lambda: torch._functorch.config.patch(activation_memory_budget=0.5),
    "how it is spent": lambda: torch._functorch.config.patch(activation_memory_budget_solver="greedy"),
    "inductor": lambda: torch._inductor.config.patch(fallback_random=True),
    "deterministic": lambda: changed(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
    ),
    "device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("name", STATES)
def test_what_tracing_asks_torch_is_in_the_key(name: str) -> None:
    before = torch_state()
    with STATES[name]():
        assert torch_state() != before
    assert torch_state() == before


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Options)])
def test_every_option_is_in_the_key_or_has_a_reason_not_to_be(name: str) -> None:
    _, (gm, examples) = captured(doubled, X)
    with made_up_gpu():
        default = captured_key(gm, examples, Options(), "cuda:0")
    if name == "fx_pass":
        assert isinstance(captured_key_of(gm, examples, fx_pass=lambda graph: None), NotCacheable)
    elif name in NOT_CACHED:
        assert isinstance(captured_key_of(gm, examples, **{name: NOT_CACHED[name]}), NotCacheable)
    elif name == "cudagraphs":
        assert isinstance(captured_key_of(gm, examples, cudagraphs=True), NotCacheable)
    elif name not in NOT_IN_THE_KEY:
        assert captured_key_of(gm, examples, **{name: other_value(name)}) not in (default, "")


def test_packets_of_torch_have_names_and_others_none() -> None:
    """Dynamo captures ``x.T`` as ``aten.numpy_T`` from torch 2.14 on, without an overload."""
    for name in ("numpy_T", "mT", "mH", "matrix_H"):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        x.meta["example_value"] = W
        graph.output(graph.call_function(getattr(torch.ops.aten, name), (x,)))
        text = captured_text(torch.fx.GraphModule(torch.nn.Module(), graph), [W])
        assert f"call_function aten.{name} " in text
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.ops.quantized.add, ()))
    with pytest.raises(NotCacheable, match=r"quantized\.add"):
        captured_text(torch.fx.GraphModule(torch.nn.Module(), graph), [])
