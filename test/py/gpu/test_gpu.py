"""Compiled programs on a CUDA device, against eager in float64: what the CPU cannot show."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import fuse_mlir

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

EMBED = """\
import sys
import torch
import fuse_mlir

def model(index, table):
    return torch.nn.functional.embedding(index, table) * 2

table = torch.rand(16, 8, device="cuda")
index = torch.tensor([int(sys.argv[1]), 3], device="cuda")
call = torch.compile(model, backend=fuse_mlir.backend, fullgraph=True, options={"strict": True})
result = call(index, table)
torch.cuda.synchronize()
torch.testing.assert_close(result, model(index, table))
print("in range")
"""


#: A row that is looked up is written to a cache, for which a row below 0 is none.
CACHE = """\
import sys
import torch
import fuse_mlir

def model(table, cache, at, new):
    row = table[at] * new
    cache.index_copy_(0, at, row.cumsum(1))
    return row

table, cache, new = (torch.rand(n, 8, device="cuda") for n in (32, 40, 2))
at = torch.tensor([int(sys.argv[1]), 3], device="cuda")
call = torch.compile(model, backend=fuse_mlir.backend, fullgraph=True, options={"strict": True})
call(table, cache, at, new)
torch.cuda.synchronize()
torch.testing.assert_close(cache[at], (table[at] * new).cumsum(1))
print("in range")
"""


def compiled(function, *, dynamic=False):
    """``function`` compiled without fallbacks, and the list that its graphs will be in."""
    graphs = []
    options = {"strict": True, "on_compiled": graphs.append}
    call = torch.compile(
        function, backend=fuse_mlir.backend, fullgraph=True, dynamic=dynamic, options=options
    )
    return call, graphs


def check(function, *inputs, dynamic=False):
    """Compares with eager on float64; the graph launches kernels."""
    call, graphs = compiled(function, dynamic=dynamic)
    close(call(*inputs), function(*map(wide, inputs)))
    assert graphs and all(g.launches_after for g in graphs)


def wide(x):
    return x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def close(got, exact):
    torch.testing.assert_close(got.double(), exact.double(), rtol=2e-5, atol=2e-6)


# ---- assertions --------------------------------------------------------------------------------------------


def embed(folder: Path, index: int, code: str = EMBED) -> subprocess.CompletedProcess:
    """A process of its own, since a failed assertion ends the use of the device."""
    program = folder / "program.py"
    program.write_text(code)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, str(program), str(index)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


@pytest.mark.parametrize("index", [16, -1])
def test_an_index_out_of_range_ends_the_program_with_the_users_line(tmp_path, index):
    done = embed(tmp_path, index)
    line = 1 + EMBED.splitlines().index("    return torch.nn.functional.embedding(index, table) * 2")
    assert done.returncode != 0 and "in range" not in done.stdout
    assert "index out of range in self" in done.stderr, done.stderr
    assert f"{tmp_path / 'program.py'}:{line}" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("index", "wrong"),
    [(31, None), (32, "row = table[at] * new"), (-1, "cache.index_copy_(0, at, row.cumsum(1))")],
)
def test_a_check_that_is_moved_names_the_write(tmp_path, index, wrong):
    done = embed(tmp_path, index, CACHE)
    if wrong is None:
        assert (done.returncode, done.stdout) == (0, "in range\n"), done.stderr
        return
    line = 1 + CACHE.splitlines().index(f"    {wrong}")
    assert done.returncode != 0 and "in range" not in done.stdout
    assert "index out of bounds for dimension 0" in done.stderr, done.stderr
    assert f"{tmp_path / 'program.py'}:{line}" in done.stderr, done.stderr


def test_an_index_in_range_asserts_nothing(tmp_path):
    done = embed(tmp_path, 15)
    assert (done.returncode, done.stdout) == (0, "in range\n"), done.stderr


def test_lanes_beyond_the_end_assert_nothing():
    table = torch.rand(5, 3, device="cuda")
    check(lambda i, t: F.embedding(i, t) + 1, torch.randint(5, (1001,), device="cuda"), table)
    torch.cuda.synchronize()


# ---- random numbers ----------------------------------------------------------------------------------------


def test_dropout_has_one_mask_forward_and_backward():
    call, graphs = compiled(lambda x: F.dropout(x.sin(), 0.25, training=True))
    x = torch.rand(100_003, device="cuda", requires_grad=True)
    y = call(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert [g.name for g in graphs] == ["forward", "backward"]
    kept = y.detach() != 0
    assert torch.equal(kept, gradient != 0)
    assert abs(kept.double().mean().item() - 0.75) < 0.01
    exact = x.detach().double()
    close(y.detach(), exact.sin() * kept / 0.75)
    close(gradient, exact.cos() * kept / 0.75)


def test_dropout_follows_the_seed():
    call, _ = compiled(lambda x: F.dropout(x, 0.5, training=True))
    x = torch.ones(10_007, device="cuda")
    torch.manual_seed(7)
    first, second = call(x), call(x)
    torch.manual_seed(7)
    assert torch.equal(call(x), first) and torch.equal(call(x), second)
    assert not torch.equal(first, second)
    torch.manual_seed(8)
    assert not torch.equal(call(x), first)


# ---- what arguments may be ---------------------------------------------------------------------------------


def softmax(x):
    return torch.softmax(x * 3, -1)


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_addresses_that_are_not_multiples_of_16_bytes(start):
    call, _ = compiled(softmax)
    data = torch.randn(3000, device="cuda")
    for offset in (0, start):  # compiled for a base that is aligned
        x = data[offset : offset + 2048].view(4, 512)
        close(call(x), softmax(x.double()))


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float64])
def test_odd_addresses_of_other_widths(dtype):
    x = torch.arange(200, device="cuda").to(dtype)[1:]
    call, _ = compiled(lambda x: x + x)
    assert torch.equal(call(x), x + x)


def test_an_odd_address_of_one_value_spread_out():
    check(lambda x, y: x * y, torch.rand(9, device="cuda")[1:2].expand(300), torch.rand(300, device="cuda"))


def test_an_odd_address_that_is_written():
    def step(x, y):
        x.add_(y)
        return x * 2

    data, y = torch.rand(513, device="cuda"), torch.rand(512, device="cuda")
    exact, before = data.double(), data[0].clone()
    close(compiled(step)[0](data[1:], y), step(exact[1:], y.double()))
    close(data, exact)
    assert torch.equal(data[0], before)


def test_one_program_for_every_batch():
    call, graphs = compiled(lambda x, w: torch.relu(x @ w).sum(-1), dynamic=True)
    w = torch.rand(33, 65, device="cuda")
    for batch in (2, 3, 7, 64, 1025):
        x = torch.randn(batch, 33, device="cuda", dtype=torch.float32)
        torch.testing.assert_close(
            call(x, w).double(), torch.relu(x.double() @ w.double()).sum(-1), rtol=2e-3, atol=2e-2
        )
    assert len(graphs) == 1
    row, _ = compiled(softmax, dynamic=True)
    for batch in (2, 5, 129):
        x = torch.randn(batch, batch + 3, device="cuda")
        close(row(x), softmax(x.double()))


def test_offsets_of_more_than_31_bits():
    """A byte each beyond 2**31, read and written where 32-bit arithmetic would be elsewhere."""
    rows, columns = 2**16 + 3, 2**15
    x = torch.zeros(rows, columns, dtype=torch.int8, device="cuda")
    x[-1] = torch.arange(columns, device="cuda") % 100
    x[2] = 5
    call, graphs = compiled(lambda x: x + 1)
    result = call(x)
    assert graphs[0].launches_after == 1
    assert torch.equal(result[-1], x[-1] + 1) and torch.equal(result[2], x[2] + 1)
    assert int((result == 1).sum()) == x.numel() - int((x != 0).sum())
    place = torch.tensor([[rows - 1], [2]], device="cuda")
    picked, _ = compiled(lambda x, i: x[i, 7] * 2)
    assert torch.equal(picked(x, place), x[place, 7] * 2)


def test_int64_indices():
    x = torch.randn(50, 40, device="cuda")
    i, j = torch.randint(-50, 50, (30, 1), device="cuda"), torch.randint(40, (7,), device="cuda")
    check(lambda x, i, j: x[i, j] + 1, x, i, j)
    check(lambda x, j: x.gather(1, j.expand(50, 7)).exp(), x, j)
    check(lambda x, j: x.index_add(1, j, x[:, :7] * 2) - x, x, j)


def test_mutation():
    def step(p, g, m):
        m.mul_(0.9).add_(g)
        p.sub_(m * 0.1)
        return (p * p).sum()

    state = [torch.randn(301, 17, device="cuda") for _ in range(3)]
    exact = [t.double() for t in state]
    call, _ = compiled(step)
    for _ in range(3):
        close(call(*state), step(*exact))
    for ours, theirs in zip(state, exact, strict=True):
        close(ours, theirs)


# ---- streams and threads -----------------------------------------------------------------------------------


def test_kernels_run_on_the_callers_stream():
    call, _ = compiled(softmax)
    x = torch.randn(64, 512, device="cuda")
    call(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.full_like(x, 7.0)
        torch.cuda._sleep(200_000_000)
        late.copy_(x)
        got = call(late)  # on any other stream it would read sevens
    stream.synchronize()
    close(got, softmax(x.double()))


def test_two_threads_call_one_model():
    model = nn.Sequential(nn.LayerNorm(64), nn.GELU(), nn.LayerNorm(64)).cuda()
    exact = nn.Sequential(nn.LayerNorm(64), nn.GELU(), nn.LayerNorm(64)).cuda().double()
    exact.load_state_dict(model.state_dict())
    call, _ = compiled(model)
    inputs = [torch.randn(8, 64, device="cuda") for _ in range(2)]
    call(inputs[0])
    torch.cuda.synchronize()
    failures = []

    def work(x):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    close(call(x), exact(x.double()))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_learned_mask_of_attention_gets_its_gradient():
    """Beside torch's own float32 product of scores: no further from float64 than twice."""

    def attention(q, k, v, bias):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)

    shapes = (4, 3, 64, 32), (4, 3, 48, 32), (4, 3, 48, 32), (1, 64, 48, 3)
    q, k, v, bias = (torch.randn(s, device="cuda", dtype=torch.bfloat16).mul(0.5) for s in shapes)
    k = k + 2 * torch.randn(32, device="cuda", dtype=torch.bfloat16)  # a mean that has to cancel
    given = [x.requires_grad_() for x in (q, k, v, bias.permute(0, 3, 1, 2))]
    cotangent = torch.randn(shapes[0], device="cuda", dtype=torch.bfloat16)
    call, graphs = compiled(attention)

    def results(function, args, by):
        out = function(*args)
        return [out, *torch.autograd.grad(out, args, by)]

    exact = results(attention, [x.detach().double().requires_grad_() for x in given], cotangent.double())
    eager, found = results(attention, given, cotangent), results(call, given, cotangent)
    for e, a, b in zip(exact, eager, found, strict=True):
        assert (b.double() - e).norm() <= 2 * (a.double() - e).norm() + 1e-2 * e.norm()
    assert found[0].stride() == eager[0].stride()
    assert any("efficient_attention_backward" in launch.name for g in graphs for launch in g.launches)


@pytest.mark.parametrize(
    "activation", [F.relu, lambda x: F.gelu(x, approximate="tanh")], ids=["relu", "gelu"]
)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.products("auto")
def test_a_product_computes_the_activation_behind_it(activation, bias):
    def function(x, w, b):
        return activation(F.linear(x, w, b if bias else None))

    shapes = (4, 64, 96), (256, 96), (256,)
    given = [torch.randn(s, device="cuda", dtype=torch.bfloat16) for s in shapes]
    call, graphs = compiled(function)
    found, eager, exact = call(*given), function(*given), function(*(x.double() for x in given))
    assert (found.double() - exact).norm() <= 1.05 * (eager.double() - exact).norm()
    assert any("_addmm_activation" in launch.name for g in graphs for launch in g.launches)
    given[0][0, 0, 0] = torch.nan
    assert torch.equal(call(*given).isnan(), function(*given).isnan())


@pytest.mark.parametrize("shape", [(1064, 40), (5003, 40), (1064, 1063), (40009, 3)])
@pytest.mark.parametrize("dim", [0, 1])
def test_equal_elements_have_no_variance(shape, dim):
    """However large they are.  Others are as exact as in eager where their mean is far from 0, also in slices
    of unequal lengths.
    """
    x = torch.randn(shape, device="cuda") + 1e3
    lines = x if dim == 1 else x.t()
    lines[0], lines[1], lines[2] = 1e30, 0.1, 1e30 * lines[2]
    call, _ = compiled(lambda x: torch.var_mean(x, dim))
    variance, mean = call(x)
    assert variance[:2].tolist() == [0.0, 0.0] and torch.equal(mean[:2], lines[:2, 0])
    assert variance[2] == torch.inf
    exact, centre = torch.var_mean(x.double(), dim)
    torch.testing.assert_close(variance[3:].double(), exact[3:], rtol=3e-4, atol=0)
    torch.testing.assert_close(mean[3:].double(), centre[3:], rtol=1e-6, atol=0)


def test_arguments_that_get_other_memory():
    def soft_update(p, q):
        p.data = p.data * 0.9 + q.data * 0.1
        return (p * q).sum(0)

    call, _ = compiled(soft_update)
    given = [torch.randn(64, 64, device="cuda") for _ in range(2)]
    expected = [x.clone() for x in given]
    for _ in range(3):
        torch.testing.assert_close(call(*given), soft_update(*expected))
        call(*(torch.randn(64, 64, device="cuda") for _ in range(2)))  # whose memory must be other memory
        torch.testing.assert_close(given, expected)
