"""torch's portable cache (``save_cache_artifacts``), and other ways in which torch asks for a compilation:
from several threads at once, and by ``explain``.
"""

import pytest
import torch
from made_up_gpu import made_up_gpu
from new_process import python
from torch.compiler._cache import CacheArtifactManager

import fuse_mlir
from fuse_mlir.compiler.runtime.cache.cache_folder import LOADED

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def rows(x: torch.Tensor) -> torch.Tensor:
    return x.exp().sum(1)


def cached(folder: object, training: bool = False) -> list[bool]:
    """Whether each graph of ``rows`` came from the cache."""
    torch._dynamo.reset()
    graphs: list[object] = []
    options = {"cache_dir": str(folder), "on_compiled": graphs.append}
    with made_up_gpu():
        x = torch.randn(8, 16, requires_grad=training)
        y = torch.compile(rows, backend=fuse_mlir.backend, options=options)(x)
        if training:
            y.sum().backward()
    return [graph.cached for graph in graphs]


@pytest.fixture
def own_artifacts():
    """No artifacts of other tests, and none for them."""
    with CacheArtifactManager.with_fresh_cache():
        LOADED.clear()
        yield
        LOADED.clear()


@pytest.mark.parametrize("training", [False, True])
def test_artifacts_make_hits_where_the_folder_has_nothing(training, own_artifacts, tmp_path) -> None:
    assert not any(cached(tmp_path / "a", training))
    data, info = torch.compiler.save_cache_artifacts()
    names = info.fuse_mlir_artifacts
    assert {name.rpartition(".")[2] for name in names} >= {"kernel", "program"}
    assert not any(cached(tmp_path / "b", training)), "another folder has nothing"
    loaded = torch.compiler.load_cache_artifacts(data)
    assert sorted(loaded.fuse_mlir_artifacts) == sorted(names)
    assert all(cached(tmp_path / "c", training))
    assert not (tmp_path / "c").exists(), "what was loaded is not written"
    assert torch.compiler.save_cache_artifacts()[1].fuse_mlir_artifacts, "what was read goes along, too"


def test_a_damaged_artifact_is_compiled_again_with_a_line_in_the_log(own_artifacts, tmp_path, caplog) -> None:
    cached(tmp_path / "a")
    torch.compiler.load_cache_artifacts(torch.compiler.save_cache_artifacts()[0])
    for name, data in LOADED.items():
        LOADED[name] = data[:-1] + bytes([data[-1] ^ 1])
    assert cached(tmp_path / "b") == [False]
    assert "is unreadable and will be made again" in caplog.text


def test_without_a_cache_nothing_is_looked_up(own_artifacts, tmp_path) -> None:
    cached(tmp_path / "a")
    torch.compiler.load_cache_artifacts(torch.compiler.save_cache_artifacts()[0])
    graphs: list[object] = []
    with made_up_gpu():
        torch._dynamo.reset()
        options = {"cache": False, "on_compiled": graphs.append}
        torch.compile(rows, backend=fuse_mlir.backend, options=options)(torch.randn(8, 16))
    assert not graphs[0].cached


def test_explain_counts_graphs_of_what_is_compiled() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    x = torch.randn(4)
    compiled = torch.compile(broken, backend=fuse_mlir.backend)
    said = torch._dynamo.explain(compiled)(x)
    assert (said.graph_count, said.graph_break_count) == (2, 1)
    torch.testing.assert_close(compiled(x), broken(x))


THREADS = """
import threading, torch
import fuse_mlir
def compile_one(number):
    def f(x):
        return (x * number).exp().sum(1)
    try:
        barrier.wait()
        found[number] = torch.compile(f, backend=fuse_mlir.backend)(x), f(x)
    except BaseException as error:
        found[number] = error
x, found, barrier = torch.randn(4, 8), {}, threading.Barrier(4)
threads = [threading.Thread(target=compile_one, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
for number, result in sorted(found.items()):
    assert isinstance(result, tuple), result
    torch.testing.assert_close(*result)
    print(number)
"""


@pytest.mark.slow
def test_the_first_compilation_may_be_that_of_several_threads() -> None:
    """The backend and the compiler are loaded by all at once."""
    if torch.__version__.startswith("2.11."):
        pytest.skip("Dynamo of torch 2.11 ends the process, whatever the backend is")
    assert python(THREADS).split() == ["0", "1", "2", "3"]
