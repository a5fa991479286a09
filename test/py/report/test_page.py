"""The page of option ``report``: its data, what it may be written over, and that it needs no network."""

import re
from pathlib import Path
from time import process_time

import pytest
import torch
from made_up_gpu import made_up_gpu
from torch._dynamo.exc import BackendCompilerFailed

import fuse_mlir
from fuse_mlir.bench.models.gpt2_small import GPT2, GPT2Config
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.driver import compiled_graph
from fuse_mlir.compiler.driver.compilation import empty_module
from fuse_mlir.compiler.report.page import page_file
from fuse_mlir.compiler.report.page.data import VERSION, graph_data

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def compiled(path, function):
    torch._dynamo.reset()
    return torch.compile(function, backend=fuse_mlir.backend, options={"report": str(path)})


def shares(x):
    y = (x - x.mean(1, keepdim=True)).exp()
    torch._dynamo.graph_break()
    return y / y.sum(0) + (y @ y.T).sum()


def waves(x):
    return x.sin() + 1


def test_all_graphs_of_a_process_are_in_one_page(tmp_path):
    path = tmp_path / "out.html"
    x = torch.randn(16, 8, requires_grad=True)
    compiled(path, shares)(x).sum().backward()
    compiled(path, waves)(x.detach())
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]
    text = path.read_text()
    frame = page_file._template()  # the library is packed, and loads nothing: the tests in a browser see that
    assert text.startswith(page_file.MARK) and not re.search(r"(src|href)=|https?://", frame)
    graphs = page_file.read_graphs(text)
    names = [graph["name"] for graph in graphs]
    assert sorted(names) == ["backward", "backward", "forward", "forward", "inference"]
    for graph in graphs:
        assert graph["timing"]["seconds"] > 0 and graph["hardware"] == "generic"
        costs = [missed["us"] for missed in graph["missed"]]
        assert costs == sorted(costs, reverse=True)
        for launch in graph["launches"]:
            assert launch["lines"] or graph["name"] == "backward" or launch["kind"] == "torch"
            assert launch["us"] > 0 and launch["writes"]
            if launch["kind"] == "kernel":
                assert "fuse.kernel" in graph["functions"][launch["name"]]


def test_a_launch_on_a_gpu_has_its_tile_its_ir_at_each_level_and_what_triton_made(tmp_path):
    path = tmp_path / "out.html"
    x = torch.randn(64, 128)
    with made_up_gpu("NVIDIA H200"):
        compiled(path, lambda x: (x - x.mean(1, keepdim=True)).exp())(x)
    (graph,) = page_file.read_graphs(path.read_text())
    (launch,) = graph["launches"]
    kernel = graph["kernels"][launch["name"]]
    assert kernel["registers"] > 8 and kernel["warps"] >= 1 and kernel["stack"] == 0
    assert ".visible .entry" in kernel["ptx"] and ".target sm_90" in kernel["ptx"]
    assert "EXIT" in kernel["sass"]
    assert "of d1 (resident)" in launch["tile"] and f"warps {kernel['warps']}" in launch["tile"]
    assert [*graph["levels"]] == ["graph", "scheduled", "tiled", "planned"]
    assert {"main", "mean", "sub", "exp"} == set(graph["levels"]["graph"])
    for level, what in (("scheduled", "fuse.reduce"), ("planned", "tt.reduce")):
        text = graph["levels"][level][launch["name"]]
        assert what in text and f'"{__file__}":' in text
    assert graph["sources"][__file__] == Path(__file__).read_text()


def test_a_graph_that_torch_runs_as_a_whole_has_no_launch():
    data = graph_data("forward", empty_module(), Remarks(), {"seconds": 0.0}, hardware_named("generic"))
    assert data["launches"] == data["buffers"] == data["missed"] == []


def test_what_is_read_is_what_was_written():
    graphs = [{"name": "</script><b>"}, {"name": "a", "launches": [1.5, None]}]
    text = page_file.page(graphs)
    assert page_file.read_graphs(text) == graphs and "</script><b>" not in text
    newer = text.replace(f'{{"version": {VERSION}', f'{{"version": {VERSION + 1}')
    for other, said in ((newer, f"version {VERSION + 1}"), ("<!DOCTYPE html>", "is not a report")):
        with pytest.raises(ValueError, match=said):
            page_file.read_graphs(other)


def test_what_is_no_report_stays(tmp_path):
    path = tmp_path / "notes.html"
    path.write_text("<!DOCTYPE html>mine")
    link = tmp_path / "link.html"
    link.symlink_to(path)
    for place, said in (
        (path, "is not a report"),
        (link, "is not a report"),
        (tmp_path, "is not a report"),
        (tmp_path / "no" / "out.html", "there is no folder"),
    ):
        with pytest.raises(BackendCompilerFailed, match=f"(?s)option 'report': .*{said}"):
            compiled(place, torch.sin)(torch.ones(3))
    assert path.read_text() == "<!DOCTYPE html>mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.html", "notes.html"]


def test_an_older_report_is_replaced_and_ranks_have_their_own(tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    path.write_text(page_file.MARK)
    page_file.add_graph(path, {"name": "a"})
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    page_file.add_graph(path, {"name": "b"})
    assert page_file.read_graphs(path.read_text()) == [{"name": "a"}]
    assert page_file.read_graphs((tmp_path / "out-rank1.html").read_text()) == [{"name": "b"}]


def test_kernels_of_the_same_name_in_two_graphs_keep_their_ir(tmp_path):
    path = tmp_path / "out.html"

    def either(x):
        return torch.cond(x.sum() > 0, lambda x: x + 5, lambda x: x + 7, (x,)) + 3

    compiled(path, either)(torch.ones(4))
    (graph,) = page_file.read_graphs(path.read_text())
    added = [launch["name"] for launch in graph["launches"] if launch["name"].endswith("add")]
    assert len(added) == 3 and len({name.rpartition(".")[0] for name in added}) == 3
    for constant in "573":
        (name,) = [n for n in added if f"constant {constant}.000000e+00" in graph["functions"][n]]
        assert f"@{name.rpartition('.')[2]}(" in graph["functions"][name]


@pytest.mark.slow
def test_the_report_of_a_training_step_of_gpt2_is_small_and_soon_there(tmp_path, monkeypatch):
    """Sizes are tiny: the number of launches makes the page, and GPT-2 small has twelve layers."""
    spent = []
    real = compiled_graph._add_to_report

    def add(*arguments):
        began = process_time()
        real(*arguments)
        spent.append(process_time() - began)

    monkeypatch.setattr(compiled_graph, "_add_to_report", add)
    path, tokens = tmp_path / "out.html", torch.arange(32).reshape(2, 16)
    model = GPT2(GPT2Config(vocab=64, n_layer=12, n_head=2, n_embd=32, block=16))
    compiled(path, model)(tokens, tokens)[1].backward()
    assert len(spent) == 2 and sum(spent) < 5
    text = path.read_text()
    assert len(text) < 3e6 and sum(len(graph["launches"]) for graph in page_file.read_graphs(text)) > 100
