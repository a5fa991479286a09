"""Kernels of a vector's components fuse with what computes its length, with the same numbers."""

import pytest
import torch
from compiling import check

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def pairs(at, near):
    """Forces and energies of Lennard and Jones between each atom and its neighbours."""
    apart = at[:, None] - at[near]
    apart = apart - apart.round()
    inverse = 1 / (apart.square().sum(-1) + 0.05)
    sixth = inverse**3
    force = (48 * inverse * sixth * (sixth - 0.5))[..., None] * apart
    return (4 * sixth * (sixth - 1)).sum(1) / 2, force.sum(1)


def largest(at, near):
    """Extremes of the components, and a sum of what depends on the length alone."""
    apart = at[:, None] - at[near]
    inverse = 1 / (apart.square().sum(-1) + 0.5)
    force = (4 * inverse * (inverse - 0.5) * (inverse + 2))[..., None] * apart
    return force.amax(1), (inverse * inverse + inverse).sum(1)


def atoms(count=60, neighbours=16, components=3, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    at = torch.rand(count, components, generator=generator).to(dtype)
    return at, torch.randint(0, count, (count, neighbours), generator=generator)


def fused(graph):
    return [r for r in graph.remarks.items if r.pass_name == "fuse-components" and r.rule == "fused"]


@pytest.mark.parametrize("components", [2, 3, 4])
def test_no_kernel_stores_the_vectors(components):
    (graph,) = check(pairs, *atoms(components=components), interpret_level="planned", hardware="h200").graphs
    assert fused(graph)
    assert graph.launches_after == 1
    text = str(graph.module)
    assert text.count('"fuse.alloc"') == 2, "the results, and nothing else"


def test_other_reductions():
    (graph,) = check(largest, *atoms(), interpret_level="planned", hardware="h200").graphs
    assert fused(graph)
    assert graph.launches_after == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits(dtype):
    check(largest, *atoms(dtype=dtype), interpret_level="planned")


def test_sizes_that_vary():
    check(pairs, *atoms(), dynamic=True, interpret_level="planned")


def test_five_components_are_too_many():
    (graph,) = check(pairs, *atoms(components=5), interpret_level="planned").graphs
    assert not fused(graph)


def test_an_index_out_of_range_is_refused():
    at, near = atoms()
    near[3, 4] = 60
    with pytest.raises(Exception, match=r"out of (range|bounds)"):
        check(pairs, at, near, interpret_level="planned")


def test_the_numbers_of_each_pass():
    check(pairs, *atoms(), verify="numeric")
    check(largest, *atoms(), verify="numeric")


@pytest.mark.parametrize("seed", range(6))
def test_drawn_vectors(seed):
    """Functions of vectors between rows that are looked up: reduced by their length, and by component."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*choices):
        return choices[torch.randint(0, len(choices), (1,), generator=generator)]

    count, neighbours, components = drawn(7, 33, 64), drawn(1, 5, 32), drawn(2, 3, 4)
    joined = drawn(torch.Tensor.sum, torch.Tensor.mean, torch.Tensor.amax)
    other, over = drawn(torch.Tensor.sum, torch.Tensor.amin), drawn(torch.tanh, torch.sin, torch.neg)

    def vectors(at, near, weight):
        apart = over(at[near] - at[:, None])
        far = apart.square().sum(-1) + 0.5
        near_by = weight / far + 1 / (far * far) - 0.25 * far
        return joined((near_by * near_by + far)[..., None] * apart, 1), other(near_by * 2, 1)

    at = torch.rand(count, components, generator=generator)
    near = torch.randint(0, count, (count, neighbours), generator=generator)
    weight = torch.rand(count, 1, generator=generator)
    check(vectors, at, near, weight, interpret_level="planned", hardware="h200")


@pytest.mark.gpu
@pytest.mark.parametrize("function", [pairs, largest])
def test_on_a_gpu(function):
    at, near = (a.cuda() for a in atoms(5000, 32))
    (graph,) = check(function, at, near).graphs
    assert fused(graph)
    assert graph.launches_after == 1
