"""Sub-graphs, orderings and assertions on a CUDA device: what the CPU cannot show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

import fuse_mlir

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

ASSERT = """\
import sys
import torch
import fuse_mlir

def positive(x):
    torch._assert_async((x > 0).all(), "all are positive")
    return x * 2

def model(p, x):
    if sys.argv[2] == "branch":
        return torch.cond(p, positive, lambda x: x + 1, (x,))
    return positive(x) + 1

x = torch.ones(1001, device="cuda")
x[1000] = float(sys.argv[1])
call = torch.compile(model, backend=fuse_mlir.backend, fullgraph=True)
with torch.no_grad():
    result = call(torch.tensor(True, device="cuda"), x)
torch.cuda.synchronize()
print("holds", result[0].item())
"""


def check(function, *runs, dynamic=False, train=False, **options):
    """Compiles once; every run against eager in float64.  The graphs."""
    graphs = []
    given = {"on_compiled": graphs.append, **options}
    call = torch.compile(function, backend=fuse_mlir.backend, fullgraph=True, dynamic=dynamic, options=given)
    for args in runs:
        wide = [a.double() if a.is_floating_point() else a for a in args]
        if not train:
            with torch.no_grad():
                torch.testing.assert_close(call(*args), narrow(function(*wide)), rtol=2e-5, atol=2e-5)
            continue
        found, exact = [], []
        for run, given_args, grads in ((call, args, found), (function, wide, exact)):
            leaves = [a.detach().requires_grad_() if a.is_floating_point() else a for a in given_args]
            run(*leaves).square().sum().backward()
            grads += [a.grad for a in leaves if a.is_floating_point()]
        torch.testing.assert_close(found, narrow(exact), rtol=2e-5, atol=2e-5)
    assert graphs
    return graphs


def narrow(value):
    return torch.utils._pytree.tree_map(
        lambda v: v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v, value
    )


def inputs(*shapes):
    return [torch.randn(shape, device="cuda") for shape in shapes]


def branch(x, w):
    return torch.cond(x.sum() > 0, lambda x: (x.sin() @ w).relu(), lambda x: x.cos() * 2, (x,))


@pytest.mark.parametrize("train", (False, True))
def test_cond(train):
    x, w = inputs((129, 64), (64, 64))
    check(branch, (x.abs(), w), (-x.abs(), w), train=train)


def test_cond_with_a_size_that_the_branch_decides():
    def function(p, x):
        return torch.cond(p, lambda x: torch.cat([x, x]) + 1, lambda x: x.cos()[:5] * 2, (x,)).sum(1)

    (x,) = inputs((64, 33))
    yes, no = (torch.tensor(v, device="cuda") for v in (True, False))
    check(function, (yes, x), (no, x), dynamic=True)


def test_while_loop():
    def function(x, w):
        start = torch.zeros((), dtype=torch.int64, device=x.device)
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, (x @ w).tanh()), (start, x))[1]

    x, w = inputs((65, 32), (32, 32))
    check(function, (x, w / 32**0.5))  # whose products do not grow, nor errors with them


def test_scan():
    def function(x, w):
        def step(carry, row):
            new = (carry * w + row).tanh()
            return new, new * row

        return scan(step, x[0] * 1, x, dim=0)[1]

    check(function, tuple(inputs((17, 300), (300,))))


@pytest.mark.parametrize("train", (False, True))
def test_nested_region(train):
    @torch.compiler.nested_compile_region
    def block(x, w):
        return torch.nn.functional.layer_norm(x @ w, (64,)).relu() + x

    def function(x, w):
        return block(block(block(x, w), w), w)

    check(function, tuple(inputs((100, 64), (64, 64))), train=train)


def test_a_users_triton_kernel_waits_for_a_kernel_of_ours():
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)

    def function(x):
        y = torch.empty_like(x)
        add_one[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return x.exp(), y * 2

    def ordered(graph):
        (exp,) = (n for n in graph.nodes if n.name == "exp")
        (kernel,) = (n for n in graph.nodes if "triton_kernel_wrapper" in n.name)
        if list(graph.nodes).index(kernel) < list(graph.nodes).index(exp):
            kernel.prepend(exp)
        preserve_node_ordering(graph, {kernel: OrderedSet([exp])})
        graph.lint()

    (x,) = inputs((1000,))
    call = torch.compile(function, backend=fuse_mlir.backend, fullgraph=True, options={"fx_pass": ordered})
    with torch.no_grad():
        first, second = call(x)
    torch.testing.assert_close(first, x.exp())
    torch.testing.assert_close(second, (x + 1) * 2)


@pytest.mark.parametrize("where", ("kernel", "branch"))
@pytest.mark.parametrize("value", (1, -1))
def test_an_assertion_ends_the_process_with_its_message_and_line(tmp_path: Path, value: int, where: str):
    program = tmp_path / "program.py"
    program.write_text(ASSERT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, str(program), str(value), where]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    if value > 0:
        assert done.returncode == 0 and done.stdout.startswith("holds"), done.stderr
        return
    line = 1 + ASSERT.splitlines().index('    torch._assert_async((x > 0).all(), "all are positive")')
    assert done.returncode != 0 and "holds" not in done.stdout
    assert "all are positive" in done.stderr and f"{program}:{line}" in done.stderr, done.stderr


def test_a_linear_recurrence_and_its_gradient():
    """``associative_scan`` as one calls it on a device, against steps in float64."""

    def function(a, x):
        def both(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        return associative_scan(both, (torch.sigmoid(a), x * 2), 1, combine_mode="pointwise")[1].tanh()

    def steps(a, x):
        state, found = 0, []
        for gate, value in zip(torch.sigmoid(a).unbind(1), x.unbind(1), strict=True):
            state = gate * state + 2 * value
            found.append(state.tanh())
        return torch.stack(found, 1)

    args = [torch.randn(4, 3000, 24, device="cuda", requires_grad=True) for _ in range(2)]
    exact = [a.detach().double().requires_grad_() for a in args]
    compiled = Compiled(function)
    found, want = compiled(*args), steps(*exact)
    assert (found - want).norm() <= 1e-5 * want.norm()
    weights = torch.randn_like(found)
    pairs = zip(
        torch.autograd.grad((found * weights).sum(), args),
        torch.autograd.grad((want * weights).sum(), exact),
        strict=True,
    )
    assert all((a - e).norm() <= 1e-5 * e.norm() for a, e in pairs)
    assert not any(graph.fallbacks for graph in compiled.graphs)
