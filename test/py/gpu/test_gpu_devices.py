"""On two CUDA devices: programs of the second while the first is the current one, and graphs over both."""

import threading

import pytest
import torch
from compiling import Compiled, assert_no_worse

from fuse_mlir.bench.models.case import named_tensors

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
    pytest.mark.usefixtures("fresh_dynamo"),
]


def network(x, w):
    return torch.nn.functional.gelu(x @ w).softmax(-1) * 3


def on_device(number: int, requires_grad: bool = False) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(number)
    device = f"cuda:{number}"
    return [
        torch.randn(64, 64, generator=generator).to(device).requires_grad_(requires_grad) for _ in range(2)
    ]


def assert_as_network(found: torch.Tensor, given: list[torch.Tensor]) -> None:
    reference, eager = network(*(t.double() for t in given)), network(*given)
    assert_no_worse(*map(named_tensors, (reference, eager, found)))
    assert found.device == given[0].device


@pytest.mark.parametrize("cudagraphs", [False, True])
def test_a_program_of_the_second_device(cudagraphs):
    given = on_device(1)
    compiled = Compiled(network, {"cudagraphs": cudagraphs})
    with torch.no_grad():
        for _ in range(3):
            assert_as_network(compiled(*given), given)
            assert torch.cuda.current_device() == 0


def test_gradients_on_the_second_device():
    given = on_device(1, requires_grad=True)
    exact = [t.detach().double().requires_grad_() for t in given]
    runs = ((network, exact), (network, given), (Compiled(network), given))
    reference, eager, found = (torch.autograd.grad(f(*a).square().sum(), a) for f, a in runs)
    assert_no_worse(*map(named_tensors, (reference, eager, found)))


def test_one_function_on_either_device(tmp_path):
    """Each device has kernels of its own, also those that come from the cache."""
    for _ in range(2):
        compiled = Compiled(network, {"cache_dir": str(tmp_path)})
        with torch.no_grad():
            for number in (0, 1, 0):
                given = on_device(number)
                assert_as_network(compiled(*given), given)


def test_a_graph_over_both_devices():
    def across(x, y):
        moved = (x.relu() * 2 + 1).to(y.device)
        return (moved + y.sin()).cos(), (y * 2).to(x.device) + x.exp()

    (x, _), (y, _) = on_device(0), on_device(1)
    with torch.no_grad():
        results = across(x.double(), y.double()), across(x, y), Compiled(across)(x, y)
    assert_no_worse(*map(named_tensors, results))
    assert [t.device for t in results[2]] == [y.device, x.device]


def test_a_thread_for_each_device():
    """Both are compiled before the threads start: torch refuses a call in one thread while another traces."""
    compiled = Compiled(network)
    with torch.no_grad():
        found = {number: compiled(*on_device(number)) for number in (0, 1)}

    def run(number: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                found[number] = compiled(*on_device(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in (0, 1):
        assert_as_network(found[number], on_device(number))
