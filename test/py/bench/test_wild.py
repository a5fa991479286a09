"""The suite `wild`: each workload is right in eager mode, and wrong when its answer is scaled; the table."""

import pytest
import torch
from bench_runs import CPU, bench, timed
from torch.utils import _pytree as pytree

from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.tables import wild_rows
from fuse_mlir.bench.wild import WILD


def built(name):
    graph = WILD[name]
    return graph, graph.new(graph.dtypes[0], CPU, small=True)


def test_there_are_sixty():
    assert len(WILD) >= 60


@pytest.mark.parametrize("name", WILD)
def test_a_workload_is_judged(name):
    graph, made = built(name)
    checker, step = GraphChecker(graph, made), graph.step(made.fn)
    assert checker.check(step).passed

    def scaled(*args):
        found = step(*args)
        for tensor in pytree.tree_leaves(args if graph.mutates else found):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                tensor.mul_(1.5)
        return found

    assert not checker.check(scaled).passed


def test_gradients_are_results():
    graph, made = built("charbonnier_total_variation_16x3x512x512")
    loss, gradient = graph.step(made.fn)(*made.args)
    assert not loss.requires_grad and gradient.shape == made.args[0].shape and gradient.any()


def test_a_run_checks_the_compiler_and_its_gradients(tmp_path):
    status, record = bench(tmp_path, "--suite", "wild", "--only", "charbonnier", "--backends", "eager,fuse")
    assert status == 0
    [result] = record["results"]
    assert result["backends"]["fuse"]["passed"]


def test_the_table_has_device_and_wall_time():
    timing = {"timing": {**timed(1.0, 2.0, 3.0).to_json()}, "passed": True}
    record = {
        "key": "a/float32",
        "case": "a",
        "dtype": "float32",
        "backends": {"eager": timing, "fuse": timing},
    }
    header, row = wild_rows([record], ("eager", "fuse"))
    assert header[3:6] == ["eager us (wall)", "fuse us (wall)", "vs eager"]
    assert row[3:6] == ["2.0 (1.0)", "2.0 (1.0)", "1.00="]
    assert wild_rows([{"key": "b"}], ("eager", "fuse"))[1][0] == "b"
