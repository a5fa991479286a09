"""Torch's own planner as an ``fx_pass``: what it has bucketed and ordered survives."""

import contextlib
import inspect
from unittest import mock

import pytest
import torch
import torch.distributed as dist
import torch.utils._runtime_estimation as runtime_estimation
from compiling import Compiled
from group_of_one import group_of_one
from torch import Tensor, fx
from torch._inductor import utils
from versions import TORCH

from fuse_mlir.compiler.fx.ordered_groups import is_ordered, ordered_graph

if not dist.is_available():
    pytest.skip("torch without torch.distributed", allow_module_level=True)
overlap_scheduling = pytest.importorskip("torch._inductor.fx_passes.overlap_scheduling")

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
c10d = torch.ops._c10d_functional
WAIT = "_c10d_functional.wait_tensor.default"
#: What of the planner is switched on, as far as this torch has it.
WANTED = {
    "collective_bucketing": True,
    "insert_overlap_deps": True,
    "compute_estimator": "analytical",
    "custom_runtime_estimation": lambda *_: 1.0,
    "pre_bucketing_fsdp_collectives": False,
}


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    with group_of_one(tmp_path_factory.mktemp("store")) as name:
        yield name


def name(node: fx.Node) -> str:
    """What a node calls, or the one op of an ordered group."""
    if is_ordered(node):
        (node,) = (n for n in ordered_graph(node).nodes if n.op == "call_function")
    return str(node.target)


def products_beside(names: list[str]) -> list[int]:
    """How many products are called between the start of each collective and the wait for it."""
    starts = [
        n for n, called in enumerate(names) if called.startswith("_c10d_functional.") and called != WAIT
    ]
    waits = [n for n, called in enumerate(names) if called == WAIT]
    pairs = zip(starts, waits, strict=True)
    return [names[start:wait].count("aten.mm.default") for start, wait in pairs]


@pytest.mark.products("auto")  # products are calls
@pytest.mark.parametrize("collectives", ("overlap", "bucket"))
def test_what_torchs_planner_has_ordered_survives(group, collectives):
    schedule = overlap_scheduling.schedule_overlap_bucketing
    known = inspect.signature(schedule).parameters
    planned: list[str] = []
    ordered: list[str] = []

    def planner(graph: fx.Graph) -> None:
        with contextlib.ExitStack() as stack:
            if TORCH < (2, 13):  # its estimate asks a GPU
                unit = mock.patch.object(overlap_scheduling, "estimate_runtime_analytical", lambda _: 1.0)
                stack.enter_context(unit)
            for module in (utils, runtime_estimation):
                bandwidth = mock.patch.object(module, "get_gpu_dram_gbps", lambda: 4800, create=True)
                stack.enter_context(bandwidth)
            schedule(graph.owning_module, **{k: v for k, v in WANTED.items() if k in known})
        planned.extend(name(n) for n in graph.nodes if n.op == "call_function")
        ordered.extend(name(n) for n in graph.nodes if is_ordered(n))

    def layers(x: Tensor, *weights: Tensor) -> Tensor:
        for w in weights:
            x = (x @ c10d.wait_tensor(c10d.all_gather_into_tensor(w, 1, group))).relu()
        return x

    x, *weights = (torch.rand(64, 64, generator=torch.Generator().manual_seed(n)) / 8 for n in range(5))
    compiled = Compiled(layers, {"fx_pass": planner, "collectives": collectives})
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, *weights), layers(x, *weights))
    (graph,) = compiled.graphs
    assert ordered, "the planner has put calls beside a collective"
    assert planned.count(WAIT) < len(weights), "and has bucketed collectives"
    launched = [launch.name for launch in graph.launches]
    assert sum(products_beside(planned)) > 0
    pairs = zip(products_beside(planned), products_beside(launched), strict=True)
    assert all(now >= before for before, now in pairs), launched
