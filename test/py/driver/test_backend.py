"""torch.compile with the backend on the CPU: what users meet first, and what other compilers got wrong."""

import tomllib
import weakref
from importlib import import_module, metadata
from pathlib import Path

import pytest
import torch
from compiling import Compiled, check
from new_process import python
from repository import ROOT
from small_models import MLP, block
from torch._dynamo.exc import BackendCompilerFailed
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.base.options import OptionError
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.observers import DumpIR
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.pipeline_text import Upstream

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


# ---- the face ----------------------------------------------------------------------------------------------


def test_importing_the_package_imports_neither_torch_nor_mlir():
    loaded = python("import fuse_mlir, sys; print(fuse_mlir.__version__, *sorted(sys.modules))").split()
    assert loaded[0] == PROJECT["version"]
    assert "fuse_mlir" in loaded and not {"torch", "torch_mlir", "mlir", "triton", "sympy"} & set(loaded)


def test_entry_point_names_the_backend():
    module, _, name = PROJECT["entry-points"]["torch_dynamo_backends"]["fuse"].partition(":")
    assert getattr(import_module(module), name) is fuse_mlir.backend
    with pytest.raises(AttributeError, match="no attribute 'elsewhere'"):
        getattr(fuse_mlir, "elsewhere")  # noqa: B009 (the name is the test)


def test_backend_is_found_by_name():
    if not metadata.entry_points(group="torch_dynamo_backends", name="fuse"):
        pytest.skip("the distribution is not installed in this interpreter")
    x = torch.randn(4, 8)
    assert torch.equal(torch.compile(torch.relu, backend="fuse")(x), torch.relu(x))


# ---- models ------------------------------------------------------------------------------------------------


@pytest.mark.products("auto")  # it counts calls
def test_mlp_forward_launches_fewer_kernels_than_ops():
    parameters = [p.detach() for p in MLP().parameters()]

    def mlp(x, w1, b1, gain, bias, w2, b2):
        return F.linear(F.layer_norm(F.gelu(F.linear(x, w1, b1)), (32,), gain, bias), w2, b2)

    [graph] = check(mlp, torch.randn(5, 16), *parameters).graphs
    assert graph.name == "inference"
    assert 0 < graph.launches_after < graph.launches_before
    assert graph.externs == 2 and graph.fallbacks == []


def test_mlp_trains():
    """Loss and every gradient against float64; then the loss goes down when the gradients are followed."""
    model, x = MLP(), torch.randn(5, 16)

    def step(x, *parameters):
        names = [name for name, _ in model.named_parameters()]
        loss = (
            torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (x,)).square().mean()
        )
        return loss, *torch.autograd.grad(loss, parameters)

    parameters = [p.detach().requires_grad_() for p in model.parameters()]
    loss, *gradients = step(x, *parameters)
    reference, *exact = step(x.double(), *(p.detach().double().requires_grad_() for p in parameters))
    graphs = []
    compiled = torch.compile(model, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    found = compiled(x).square().mean()
    found.backward()
    assert {graph.name for graph in graphs} == {"forward", "backward"}
    assert abs(found.item() - reference.item()) <= 2 * abs(loss.item() - reference.item()) + 1e-6
    for parameter, eager, ref in zip(model.parameters(), gradients, exact, strict=True):
        error, allowed = ((t.double() - ref).abs().max() for t in (parameter.grad, eager))
        assert error <= 2 * allowed + 1e-6 * ref.abs().max()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.05 * parameter.grad
    assert compiled(x).square().mean() < found


def test_one_dynamic_graph_serves_many_sizes():
    def f(x):
        return F.softmax(x * 2 + 1, -1).sum(0)

    compiled = Compiled(f, dynamic=True)
    for rows, columns in ((3, 5), (8, 16), (17, 2), (2, 64)):
        x = torch.randn(rows, columns)
        torch.testing.assert_close(compiled(x), f(x.double()).float(), rtol=1e-5, atol=1e-6)
    assert len(compiled.graphs) == 1


def test_sizes_zero_and_one_are_specialised_or_served():
    compiled = Compiled(lambda x: x.exp().sum(0) + 1, dynamic=True)
    for rows in (4, 1, 0, 7):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(compiled(x), x.exp().sum(0) + 1)


def test_dynamic_training():
    model = MLP()
    compiled = torch.compile(model, backend=fuse_mlir.backend, dynamic=True)
    for rows in (3, 6):
        x = torch.randn(rows, 16)
        gradients = []
        for call in (model, compiled):
            model.zero_grad(set_to_none=True)
            call(x).square().sum().backward()
            gradients.append([p.grad.clone() for p in model.parameters()])
        torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)


# ---- options -----------------------------------------------------------------------------------------------

WRONG = {
    "unknown": ({"strickt": True}, "unknown option 'strickt' of the fuse backend; did you mean 'strict'?"),
    "far": ({"zzz": 1}, "unknown option 'zzz' of the fuse backend; it has strict, attention, "),
    "type": ({"strict": 1}, "option 'strict' takes a bool, got 1"),
    "choice": (
        {"verify": "maybe"},
        "option 'verify' takes 'levels' or 'on' or 'off' or 'numeric', got 'maybe'",
    ),
    "function": ({"fx_pass": 3}, "option 'fx_pass' takes a function or None, got 3"),
    "negative": ({"threads": -3}, "option 'threads' is at least 0, got -3"),
    "negative seconds": ({"autotune_seconds": -0.5}, "option 'autotune_seconds' is at least 0, got -0.5"),
    "no number": ({"autotune_seconds": float("nan")}, "option 'autotune_seconds' is at least 0, got nan"),
    "number": ({"threads": True}, "option 'threads' takes an int, got True"),
    "hardware": ({"hardware": "h1000"}, "option 'hardware': unknown hardware 'h1000': expected one of a100,"),
    "pipeline": ({"pipeline": "builtin.module(eliminate-ded)"}, "unknown pass 'eliminate-ded'; did you mean"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options_reach_the_user(options, message):
    with pytest.raises(BackendCompilerFailed) as caught:
        torch.compile(torch.relu, backend=fuse_mlir.backend, options=options)(torch.ones(3))
    inner = caught.value.inner_exception
    assert message in str(inner)
    assert isinstance(inner, OptionError) or "pipeline" in options


def test_unknown_mode_reaches_the_user():
    with pytest.raises(BackendCompilerFailed) as caught:
        torch.compile(torch.relu, backend=fuse_mlir.backend, mode="max-speed")(torch.ones(3))
    assert isinstance(caught.value.inner_exception, OptionError)
    assert "unknown mode 'max-speed'" in str(caught.value)


@pytest.mark.parametrize("level", ["graph", "scheduled", "tiled", "planned"])
def test_every_level_gives_the_answer(level):
    check(block, torch.randn(5, 16), torch.randn(16, 24), interpret_level=level)


@pytest.mark.parametrize("verify", ["levels", "on", "off", "numeric"])
def test_every_way_of_verifying_gives_the_answer(verify):
    check(block, torch.randn(5, 16), torch.randn(16, 24), verify=verify)


@pytest.mark.products("auto")  # it counts calls
def test_on_compiled_tells_what_was_compiled():
    [graph] = check(block, torch.randn(5, 16), torch.randn(16, 24)).graphs
    assert {"import", "passes", "kernels"} <= graph.seconds.keys()
    assert graph.externs == 1 and graph.launches_after < graph.launches_before
    assert "func.func @main" in str(graph.module)
    x, w = torch.randn(5, 16), torch.randn(16, 24)
    (result,) = graph.call([x, w])
    torch.testing.assert_close(result, block(x, w))


def test_fx_pass_sees_every_graph():
    seen = []
    compiled = Compiled(lambda x: x.sin().sum(), {"fx_pass": lambda graph: seen.append(len(graph.nodes))})
    compiled(torch.randn(4, requires_grad=True)).backward()
    assert len(seen) == len(compiled.graphs) == 2


# ---- ops that are not generated ----------------------------------------------------------------------------


@torch.library.custom_op("fuse_test::mystery", mutates_args=())
def mystery(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0) * 3


@mystery.register_fake
def _(x):
    return torch.empty_like(x)


def uses_mystery(x):
    y = x * 2
    y = mystery(y)  # the line that the messages name
    return y + 1


LINE = uses_mystery.__code__.co_firstlineno + 2


def test_strict_names_op_shapes_and_line():
    with pytest.raises(BackendCompilerFailed) as caught:
        Compiled(uses_mystery, {"strict": True})(torch.randn(4, 8))
    error = caught.value.inner_exception
    assert isinstance(error, UnsupportedOp)
    text = str(error)
    assert "fuse_test.mystery" in text and "float32[4, 8]" in text
    assert f"{Path(__file__).name}:{LINE}" in text


def test_an_op_that_is_not_generated_runs_as_itself_and_is_counted():
    [graph] = check(uses_mystery, torch.randn(4, 8)).graphs
    [fallback] = graph.fallbacks
    assert "fuse_test.mystery" in fallback.target and str(LINE) in str(fallback.location)
    assert graph.externs == 1 and graph.launches_after == 2
    assert any("fuse_test.mystery" in remark.message for remark in graph.remarks.items)


def test_spectra():
    check(lambda x: torch.fft.rfft(x).abs() + 1, torch.randn(4, 8))


@pytest.mark.parametrize("gradient", [False, True])
def test_no_input_outlives_its_call(gradient):
    """Nor does a result: beside the parameters nothing stays allocated."""
    model = MLP().requires_grad_(gradient)
    compiled = Compiled(model)
    tensors = []
    for _ in range(2):
        x = torch.randn(3, 16)
        y = compiled(x)
        tensors += [weakref.ref(x), weakref.ref(y)]
        if gradient:
            y.square().mean().backward()
        del x, y
    assert [t() for t in tensors] == [None] * 4


# ---- the IR ------------------------------------------------------------------------------------------------


@pytest.mark.products("auto")  # as the pipeline of fuse-opt
def test_dumps_replay(tmp_path):
    """From the first dump, the default pipeline gives every other dump, byte for byte; the last one runs."""
    x, w = torch.randn(5, 16), torch.randn(16, 24)
    check(block, x, w, dump=str(tmp_path))
    dumps = sorted((tmp_path / "inference-0").glob("*.mlir"))
    passes = default_pipeline("scheduled")
    assert [d.stem[3:] for d in dumps] == ["input", *(p.name for p in passes)]
    for dump in dumps:  # each may be read and written again
        assert written(read(dump), tmp_path / "again", []) == {"00-input": dump.read_bytes()}
    replayed = read(dumps[0])
    assert written(replayed, tmp_path / "replay", passes) == {d.stem: d.read_bytes() for d in dumps}
    (result,) = run_module(read(dumps[-1]), [x, w])
    torch.testing.assert_close(result, block(x, w))


def training_step(x, w):
    return torch.nn.functional.layer_norm(x @ w, (24,)).softmax(1)


def updated(x, w):
    x.mul_(2)
    return (x[1:] + x[:-1]).sum(0), torch.cat([x, x + 1]) @ w


@pytest.mark.products("auto")  # as the pipeline of fuse-opt
@pytest.mark.parametrize(
    ("function", "how", "gradient"),
    [(training_step, {}, True), (updated, {"dynamic": True}, False), (updated, {}, False)],
    ids=["training", "dynamic", "mutation"],
)
def test_every_dump_replays_to_the_last(tmp_path, function, how, gradient):
    """At whatever pass one starts, the rest of the pipeline ends in the same bytes."""
    x, w = torch.randn(5, 16), torch.randn(16, 24, requires_grad=gradient)
    result = Compiled(function, {"dump": str(tmp_path), "interpret_level": "planned"}, **how)(x, w)
    if gradient:
        result.sum().backward()
    passes = default_pipeline("planned")
    folders = sorted(f for f in tmp_path.iterdir() if f.is_dir())
    assert [f.name for f in folders] == (["backward-0", "forward-0"] if gradient else ["inference-0"])
    for folder in folders:
        dumps = sorted(folder.glob("*.mlir"))
        for number, dump in enumerate(dumps[:-1]):
            module = read(dump)
            PassManager(passes[number:]).run(module)
            again = module.operation.get_asm(enable_debug_info=True).rstrip("\n") + "\n"
            assert again == dumps[-1].read_text(encoding="utf-8"), f"from {dump.name}"
        assert (folder / "schedule.svg").read_text().startswith("<svg")


def read(path: Path) -> ir.Module:
    return ir.Module.parse(path.read_text(encoding="utf-8"), make_context())


def written(module: ir.Module, folder: Path, passes: list[Pass]) -> dict[str, bytes]:
    """What `DumpIR` writes of a run of `passes`."""
    observer = DumpIR(folder)
    PassManager(passes or [Upstream("")], observers=[observer]).run(module)
    return {path.stem: path.read_bytes() for path in observer.written[: len(passes) + 1]}
