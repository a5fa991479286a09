"""torch keeps what the backend makes: ``aot_compile``, and ``TORCH_CACHING_PRECOMPILE``."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from repository import ROOT

import fuse_mlir
from fuse_mlir.compiler.base.errors import PackageError, PackageMismatch
from fuse_mlir.compiler.driver.portable import output_code

pytestmark = [
    pytest.mark.usefixtures("fresh_dynamo"),
    pytest.mark.skipif(not torch._dynamo.config.enable_aot_compile, reason="off by default in torch 2.11"),
]


def shares(x, y):
    """The graph holds a tensor."""
    return (x.sin() * torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device) + y).softmax(-1)


def updated(x, y):
    x.add_(y)
    return x * 2, x[0]


def arguments(device: str, rows: int, gradients: bool) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    made = [torch.randn(*size, generator=generator).to(device) for size in ((rows, 4), (4,))]
    return [each.requires_grad_(gradients) for each in made]


def check(call: Any, function: Any, device: str, rows: int, gradients: bool) -> None:
    given, copies = (arguments(device, rows, gradients) for _ in range(2))
    found, expected = call(*given), function(*copies)
    torch.testing.assert_close(found, expected)
    if gradients:
        found.square().sum().backward()
        expected.square().sum().backward()
        given, copies = [a.grad for a in given], [a.grad for a in copies]
    torch.testing.assert_close(given, copies)


def compiled(function: Any, device: str, *, gradients: bool = False, dynamic: bool = False) -> Any:
    call = torch.compile(function, backend=fuse_mlir.backend, fullgraph=True, dynamic=dynamic or None)
    return call.aot_compile((tuple(arguments(device, 3, gradients)), {}))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    ("function", "gradients", "dynamic"),
    [(shares, True, False), (shares, False, True), (updated, False, False)],
)
def test_a_compiled_function_is_saved_and_loaded(function, gradients, dynamic, device, tmp_path) -> None:
    call, path = compiled(function, device, gradients=gradients, dynamic=dynamic), tmp_path / "function"
    check(call, function, device, 3, gradients)
    call.save_compiled_function(str(path))
    torch._dynamo.reset()
    with path.open("rb") as file:
        loaded = torch.compiler.load_compiled_function(file)
    check(loaded, function, device, 3, gradients)
    if dynamic:
        check(loaded, function, device, 7, gradients)


def test_what_is_pickled_is_data_and_a_graph_that_is_none_is_refused(monkeypatch) -> None:
    kept: list[output_code.FuseOutputCode] = []
    make = output_code.FuseOutputCode.__init__

    def keep(self: Any, *given: Any) -> None:
        make(self, *given)
        kept.append(self)

    monkeypatch.setattr(output_code.FuseOutputCode, "__init__", keep)
    compiled(shares, "cpu")
    [code] = kept
    stored = pickle.loads(pickle.dumps(code))
    stored._stored["capability"] = 80
    monkeypatch.setattr(output_code, "capability_of", lambda device: 90)
    with pytest.raises(PackageMismatch, match="was made for sm_80, and this is sm_90"):
        stored.post_compile((), None, {})
    code._graph.rebinds = True
    with pytest.raises(PackageError, match="the inference graph gives arguments other memory"):
        pickle.dumps(code)


PRECOMPILED = """
import sys, torch, fuse_mlir
from test_aot_compile import arguments, check, shares
torch._dynamo.config.caching_precompile = True
what, path = sys.argv[1:]
if what == "load":
    torch.compiler.load_cache_artifacts(open(path, "rb").read())
graphs = []
call = torch.compile(shares, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
check(call, shares, "cpu", 3, True)
if what == "save":
    open(path, "wb").write(torch.compiler.save_cache_artifacts()[0])
print(len(graphs), "graphs are compiled")
"""


@pytest.mark.slow
def test_precompiled_graphs_are_not_compiled_in_another_process(tmp_path) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    for what, said in (("save", "2 graphs are compiled"), ("load", "0 graphs are compiled")):
        done = subprocess.run(
            [sys.executable, "-c", PRECOMPILED, what, str(tmp_path / "artifacts")],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / what)},
        )
        assert said in done.stdout, done.stdout + done.stderr
        assert "Backend not found" not in done.stderr
