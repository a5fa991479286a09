"""Backward graphs that write over what autograd saved: where nothing else sees it, and nowhere else."""

from unittest import mock

import pytest
import torch
from plan_on_cpu import cpu_plan
from torch.autograd.graph import saved_tensors_hooks

import fuse_mlir
from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.driver.compilation import Executable
from fuse_mlir.compiler.runtime import taken_over, torch_names
from fuse_mlir.compiler.runtime.taken_over import take_over, take_over_last

F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def loss(x, w, label):
    return F.cross_entropy(x @ w, label, label_smoothing=0.1)


def given():
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(512, 16, generator=generator), torch.randn(16, 1000, generator=generator)
    return x.requires_grad_(), w.requires_grad_(), torch.randint(0, 1000, (512,), generator=generator)


@pytest.fixture
def copies(monkeypatch):
    """The tensors that were copied, of those taken over; launch plans run, as on a GPU."""
    found = []

    def counted(saved):
        found.append(saved.shape)
        return copy(saved)

    copy = taken_over.take_over
    monkeypatch.setattr(taken_over, "take_over", counted)

    def executable(module, objects, options, **given):
        planned = cpu_plan(module, objects)
        run = planned.run.__closure__  # the plan itself: what stands around it keeps the arguments
        bound = next(c.cell_contents for c in run if hasattr(c.cell_contents, "run"))
        return Executable(bound.run, planned.plan)

    with mock.patch.object(compilation, "executable", executable):
        yield found


def compiled(function=loss, **options):
    graphs = []
    call = torch.compile(
        function,
        backend=fuse_mlir.backend,
        options={"interpret_level": "planned", "hardware": "h200", "on_compiled": graphs.append, **options},
    )
    return call, graphs


def agrees(found, function, args, given):
    want = torch.autograd.grad(function(*args), given)
    exact = [a.detach().double().requires_grad_() if a.is_floating_point() else a for a in args]
    exact_given = [e for e, a in zip(exact, args, strict=True) if a.requires_grad]
    doubles = torch.autograd.grad(function(*exact), exact_given)
    for a, b, e in zip(found, want, doubles, strict=True):
        assert (a.double() - e).abs().max() <= 2 * (b.double() - e).abs().max() + 1e-7


def backward_text(graphs):
    [graph] = [g for g in graphs if g.name == "backward"]
    return str(graph.module)


def test_what_was_saved_is_written_over(copies):
    args = given()
    call, graphs = compiled()
    found = torch.autograd.grad(call(*args), args[:2])
    agrees(found, loss, args, args[:2])
    text = backward_text(graphs)
    assert text.count("call @take_over") == 1
    assert (
        text.count('"fuse.alloc"() {operandSegmentSizes = array<i32: 0>, syms = []} : () -> tensor<512x1000')
        == 0
    )
    assert not copies


def test_a_graph_that_is_kept_gives_the_same_again(copies):
    args = given()
    call, _ = compiled()
    result = call(*args)
    first = [g.clone() for g in torch.autograd.grad(result, args[:2], retain_graph=True)]
    assert len(copies) == 1
    second = torch.autograd.grad(result, args[:2])
    assert all(map(torch.equal, first, second))
    assert len(copies) == 1, "the last pass needs no copy"


def test_what_a_hook_keeps_stays_as_it_was(copies):
    args, kept = given(), []
    call, _ = compiled()

    def pack(saved):
        kept.append((saved, saved.clone()))
        return saved

    with saved_tensors_hooks(pack, lambda saved: saved):
        found = torch.autograd.grad(call(*args), args[:2])
    agrees(found, loss, args, args[:2])
    assert kept and all(torch.equal(now, then) for now, then in kept)


def with_logits(x, w, label):
    logits = x @ w
    return F.cross_entropy(logits, label, label_smoothing=0.1), logits


def test_what_the_caller_has_is_not_written_over(copies):
    args = given()
    call, graphs = compiled(with_logits)
    result, logits = call(*args)
    before = logits.detach().clone()
    torch.autograd.grad(result, args[:2])
    assert torch.equal(logits, before)
    assert "@take_over" not in backward_text(graphs)


def test_the_numbers_of_each_pass():
    args = given()
    call, _ = compiled(verify="numeric")
    agrees(torch.autograd.grad(call(*args), args[:2]), loss, args, args[:2])


def test_cuda_graphs_write_to_no_argument(copies):
    args = given()
    call, graphs = compiled(cudagraphs=True)
    torch.autograd.grad(call(*args), args[:2])
    assert "@take_over" not in backward_text(graphs)


def test_a_warm_function_copies_no_more_than_a_cold_one(copies):
    args = given()
    call, _ = compiled()
    for _ in range(40):  # Python rewrites a function's code as it becomes warm
        torch.autograd.grad(call(*args), args[:2])
    assert not copies


def test_calls_below_a_hook_of_dynamo_copy_nothing(copies):
    args = given()
    call, _ = compiled()
    result = call(*args)

    @torch.compile(backend="eager")
    def gradients(loss):  # the frames below it are called through Dynamo's hook
        torch._dynamo.graph_break()
        return torch.autograd.grad(loss, args[:2])

    agrees(gradients(result), loss, args, args[:2])
    assert not copies


KEEPERS = {
    "tensor": lambda saved: saved,
    "view": lambda saved: saved.view(-1),
    "alias": lambda saved: saved.detach(),
    "storage": lambda saved: saved.untyped_storage(),
    "typed storage": lambda saved: saved.storage(),
    "array": lambda saved: saved.numpy(),
    "part of an array": lambda saved: saved.numpy()[1:],
    "capsule": torch.utils.dlpack.to_dlpack,
    "parameter": torch.nn.Parameter,
}


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
def test_what_anything_keeps_is_copied(keep):
    box = [torch.randn(4, 6)]
    kept, address, strides = keep(box[0]), box[0].data_ptr(), box[0].stride()
    taken = take_over_last(box)
    assert taken.data_ptr() != address
    assert taken.stride() == strides
    assert kept is not None and not box


@pytest.mark.parametrize("touch", [keep for name, keep in KEEPERS.items() if "array" not in name])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_what_was_let_go_again_is_taken(touch):
    box = [torch.randn(4, 6).t()]
    touch(box[0].t())
    address, strides = box[0].data_ptr(), box[0].stride()
    taken = take_over_last(box)
    assert (taken.data_ptr(), taken.stride()) == (address, strides)


def test_memory_that_torch_did_not_take_is_copied():
    buffer = bytearray(4096)
    box = [torch.frombuffer(buffer, dtype=torch.float32)]
    address = box[0].data_ptr()
    assert take_over_last(box).data_ptr() != address


def test_what_kernels_cannot_address_is_copied():
    taken = take_over_last([torch.randn(65)[1:]])
    assert taken.data_ptr() % 16 == 0


def test_who_keeps_the_tensor_gets_a_copy():
    saved = torch.randn(4, 6).t()
    copy = take_over(saved)
    assert torch.equal(copy, saved)
    assert copy.stride() == saved.stride()
    assert copy.data_ptr() != saved.data_ptr()


def test_the_op_has_a_name():
    assert torch_names.resolve("fuse.take_over") is take_over


@pytest.mark.gpu
def test_the_gradient_of_a_loss_needs_no_memory_on_a_gpu():
    given_ = [a.detach().cuda() for a in given()]
    x, w, label = given_[0].repeat(16, 1).requires_grad_(), given_[1].requires_grad_(), given_[2].repeat(16)
    call = torch.compile(loss, backend=fuse_mlir.backend)

    def step():
        return torch.autograd.grad(call(x, w, label), (x, w))

    for _ in range(3):
        step()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    found = step()
    logits = x.shape[0] * w.shape[1] * 4
    assert torch.cuda.max_memory_allocated() - before < 1.25 * logits
    agrees(found, loss, (x, w, label), (x, w))


@pytest.mark.gpu
def test_a_graph_that_is_kept_gives_the_same_again_on_a_gpu():
    x, w, label = (a.detach().cuda() for a in given())
    args = x.requires_grad_(), w.requires_grad_(), label
    result = torch.compile(loss, backend=fuse_mlir.backend)(*args)
    first = [g.clone() for g in torch.autograd.grad(result, args[:2], retain_graph=True)]
    assert all(map(torch.equal, first, torch.autograd.grad(result, args[:2])))
