"""The page of option ``report``: its data, what it may be written over, and that it needs no network."""

import json
import re

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed

import fuse_mlir
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.driver.compilation import empty_module
from fuse_mlir.compiler.report import html_page
from fuse_mlir.compiler.report.html_data import graph_data

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def compiled(path, function):
    torch._dynamo.reset()
    return torch.compile(function, backend=fuse_mlir.backend, options={"report": str(path)})


def data_of(text: str) -> dict:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found)


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
    assert text.startswith(html_page.MARK) and not re.search(
        r"(src|href)=|https?://", text.split("@DATA@")[0]
    )
    data = data_of(text)
    names = [graph["name"] for graph in data["graphs"]]
    assert sorted(names) == ["backward", "backward", "forward", "forward", "inference"]
    for graph in data["graphs"]:
        assert graph["timing"]["seconds"] > 0 and graph["hardware"] == "generic"
        costs = [missed["us"] for missed in graph["missed"]]
        assert costs == sorted(costs, reverse=True)
        for launch in graph["launches"]:
            assert launch["lines"] or graph["name"] == "backward" or launch["kind"] == "torch"
            assert launch["us"] > 0 and launch["writes"]
            if launch["kind"] == "kernel":
                assert "fuse.kernel" in graph["functions"][launch["name"]]


def test_a_graph_that_torch_runs_as_a_whole_has_no_launch():
    data = graph_data(
        "forward",
        empty_module(),
        Remarks(),
        {"seconds": 0.0},
        hardware_named("generic"),
        launches_before=0,
        cached=False,
        source="",
        kernels={},
    )
    assert data["launches"] == data["buffers"] == data["missed"] == []


def test_text_cannot_end_the_script():
    text = html_page.page([{"name": "</script><b>"}])
    assert data_of(text)["graphs"] == [{"name": "</script><b>"}]


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
    path.write_text(html_page.MARK)
    html_page.add_graph(path, {"name": "a"})
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    html_page.add_graph(path, {"name": "b"})
    assert data_of(path.read_text())["graphs"] == [{"name": "a"}]
    assert data_of((tmp_path / "out-rank1.html").read_text())["graphs"] == [{"name": "b"}]
