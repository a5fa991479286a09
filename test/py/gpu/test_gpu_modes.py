"""``mode="reduce-overhead"`` on a CUDA device: replays compute what eager does, whatever changes between
calls."""

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import fuse_mlir

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


def compiled(function, *, dynamic=False):
    graphs = []
    options = {"cudagraphs": True, "on_compiled": graphs.append}
    call = torch.compile(
        function, backend=fuse_mlir.backend, fullgraph=True, dynamic=dynamic, options=options
    )
    return call, graphs


@pytest.fixture(autouse=True)
def replays(monkeypatch):
    """How often a graph was replayed."""
    count, real = [0], torch.cuda.CUDAGraph.replay

    def replay(graph):
        count[0] += 1
        return real(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", replay)
    return count


def check(function, make, *, calls=5, dynamic=False):
    """``calls`` calls with new arguments each; the last ones replay."""
    call, graphs = compiled(function, dynamic=dynamic)
    for number in range(calls):
        args = make(number)
        torch.compiler.cudagraph_mark_step_begin()
        torch.testing.assert_close(call(*args), function(*args), rtol=2e-4, atol=2e-4)
    return graphs


def test_the_mode_has_torchs_name():
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)).cuda()
    call = torch.compile(model, backend=fuse_mlir.backend, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(8, 64, device="cuda")
            torch.testing.assert_close(call(x), model(x), rtol=2e-4, atol=2e-4)


def test_replays_read_new_inputs(replays):
    w = torch.randn(32, 32, device="cuda")
    [graph] = check(lambda x: F.softmax(x @ w, -1) * 2, lambda _: (torch.randn(16, 32, device="cuda"),))
    assert len(graph.partitions) == 1 and graph.unrecorded == ()
    assert replays[0] == 4  # once after recording, then instead of running


def test_misaligned_inputs_and_views():
    def make(number):
        whole = torch.randn(16 * 32 + 8, device="cuda")
        return (whole[number : number + 512].view(16, 32),)

    check(lambda x: (x.cumsum(1), x.t().contiguous()), make)


def test_sizes_that_change_are_recorded_each():
    check(
        lambda x: F.layer_norm(x, (32,)).sum(0),
        lambda number: (torch.randn(8 + number % 2, 32, device="cuda"),),
        calls=8,
        dynamic=True,
    )


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_what_depends_on_data_runs_between(replays):
    def f(x):
        y = (x * 2).sin()
        return y[y > 0].sum() + y.mean(), y.cos()

    [graph] = check(f, lambda _: (torch.randn(64, 32, device="cuda"),))
    assert graph.partitions and graph.unrecorded
    assert any("depends on data" in call.reason for call in graph.unrecorded)
    assert replays[0] >= 3


def test_training(replays):
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)).cuda()
    call, graphs = compiled(lambda x, y: F.cross_entropy(model(x), y))
    for _ in range(6):
        x, y = torch.randn(16, 32, device="cuda"), torch.randint(0, 4, (16,), device="cuda")
        found, expected = [], []
        for run, kept in ((call, found), (lambda x, y: F.cross_entropy(model(x), y), expected)):
            model.zero_grad(set_to_none=True)
            torch.compiler.cudagraph_mark_step_begin()
            loss = run(x, y)
            loss.backward()
            kept += [loss.detach().clone(), *(p.grad.clone() for p in model.parameters())]
        torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-4)
    assert [g.name for g in graphs] == ["forward", "backward"] and all(g.partitions for g in graphs)
    assert replays[0] >= 8


def test_buffers_are_updated_in_place():
    def new():
        torch.manual_seed(1)
        return nn.BatchNorm1d(16).cuda().train()

    model, eager = new(), new()
    call, [*_] = compiled(model)
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(8, 16, device="cuda")
            torch.testing.assert_close(call(x), eager(x), rtol=2e-4, atol=2e-4)
    torch.testing.assert_close(list(model.buffers()), list(eager.buffers()), rtol=2e-4, atol=2e-4)


def test_an_input_that_is_written_stays_the_callers():
    def f(state, x):
        state.mul_(2).add_(x)
        return state.sum(0)

    call, graphs = compiled(f)
    for _ in range(5):
        state, x = torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda")
        expected_state = state.clone()
        expected = f(expected_state, x)
        torch.compiler.cudagraph_mark_step_begin()
        torch.testing.assert_close(call(state, x), expected)
        torch.testing.assert_close(state, expected_state)
    assert any("writes into an argument" in call.reason for call in graphs[0].unrecorded)


def test_random_numbers_differ_between_replays_and_repeat_with_the_seed():
    def f(x):
        return F.dropout(x * 2, 0.5)

    call, _ = compiled(f)
    x = torch.ones(64, 64, device="cuda")

    def draw():
        torch.compiler.cudagraph_mark_step_begin()
        return call(x).clone()

    for _ in range(3):
        draw()
    torch.manual_seed(7)
    first = [draw() for _ in range(3)]
    torch.manual_seed(7)
    second = [draw() for _ in range(3)]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first[0], first[1]) and not torch.equal(first[1], first[2])
    assert all(set(t.unique().tolist()) == {0.0, 4.0} for t in first)


def test_another_stream_and_another_thread():
    call, _ = compiled(lambda x: (x * 2).softmax(-1))
    x = torch.randn(16, 32, device="cuda")
    stream = torch.cuda.Stream()
    for _ in range(4):
        with torch.cuda.stream(stream):
            stream.wait_stream(torch.cuda.default_stream())
            result = call(x).clone()
        torch.cuda.current_stream().wait_stream(stream)
        torch.testing.assert_close(result, (x * 2).softmax(-1))
    failures = []

    def work():
        try:
            for _ in range(4):
                torch.testing.assert_close(call(x).clone(), (x * 2).softmax(-1))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures, failures


def test_results_that_share_storage():
    def f(x):
        y = x * 2
        return y, y.view(-1), y[1:]

    check(f, lambda _: (torch.randn(8, 4, device="cuda"),))


def test_memory_of_activations_is_returned_after_the_backward_pass():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(4))).cuda()
    held = {}
    for name, backend in (("inductor", "inductor"), ("fuse", fuse_mlir.backend)):
        torch._dynamo.reset()
        torch.cuda.empty_cache()
        call = torch.compile(model, backend=backend, mode="reduce-overhead")
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(4):
            model.zero_grad(set_to_none=True)
            torch.compiler.cudagraph_mark_step_begin()
            call(torch.randn(4096, 512, device="cuda")).square().mean().backward()
        torch.cuda.synchronize()
        held[name] = (torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before)
        del call
    slack = 1 << 20
    assert all(f <= i + slack for f, i in zip(held["fuse"], held["inductor"], strict=True)), held
