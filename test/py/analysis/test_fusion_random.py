"""Fusion keeps the numbers of random graphs of small tensors."""

from fusion_checks import SCHEDULED, check
from fusion_modules import Graph, Tensor
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = ["unary", "binary", "reduce", "transpose", "slice", "flatten", "cumsum", "cat", "flip"]


@st.composite
def chains(draw: st.DrawFn) -> tuple[Graph, list[Tensor], dict[int, int]]:
    """Random graphs of small tensors; the outputs; perhaps an input that the last kernel overwrites."""
    dynamic = draw(st.booleans())
    g = Graph(symbols=("s0",) if dynamic else ())
    shape = [draw(st.sampled_from([2, 3, 4])) for _ in range(draw(st.sampled_from([1, 2, 2, 3])))]
    first = g.input(*(["s0", *shape[1:]] if dynamic else shape))
    live = [first]
    for _ in range(draw(st.integers(2, 8))):
        x = draw(st.sampled_from(live[-3:]))
        rank = len(x.sizes)
        kind = draw(st.sampled_from(KINDS))
        dim = draw(st.integers(0, rank - 1)) if rank else 0
        if kind == "binary":
            other = draw(st.sampled_from([y for y in live if broadcasts(x, y)]))
            live.append(g.pointwise(draw(st.sampled_from(["add", "sub", "mul"])), x, other))
        elif kind == "reduce" and rank:
            dims = (dim,) if draw(st.booleans()) else tuple(range(rank))
            live.append(g.reduce(draw(st.sampled_from(["sum", "max", "min"])), x, dims))
        elif kind == "transpose" and rank > 1:
            live.append(g.transpose(x, dim, draw(st.integers(0, rank - 1))))
        elif kind == "slice" and rank and (x.sizes[dim].constant or 0) > 2:
            start = draw(st.integers(0, 1))
            live.append(g.slice(x, dim, start, x.sizes[dim].constant - 1 - draw(st.integers(0, 1 - start))))
        elif kind == "flatten" and rank > 1 and x.spec.is_contiguous:
            live.append(g.flatten(x))
        elif kind == "cumsum" and rank:
            live.append(g.cumsum(x, dim))
        elif kind == "cat" and rank and x.sizes[dim].constant:
            live.append(g.cat(x, x, dim))
        elif kind == "flip" and rank:
            live.append(g.flip(x, dim))
        else:
            live.append(g.pointwise(draw(st.sampled_from(["neg", "sin", "exp", "square_plus"])), x))
    outputs = [t for t in live[1:] if draw(st.integers(0, 3)) == 0 and t.spec.is_contiguous]
    outputs.append(g.pointwise("neg", live[-1]))
    # A view of the argument must not be returned after the argument is overwritten.
    kernels = {t.name for t in live[1:]} - set(views(g))
    same = [t for t in live[1:] if t.sizes == first.sizes and t.name in kernels]
    if not same or any(t.name not in kernels for t in outputs[:-1]) or not draw(st.booleans()):
        return g, outputs, {}
    outputs.append(g.pointwise("square_plus", draw(st.sampled_from(same)), into=first))
    return g, outputs, {len(outputs) - 1: 0}


def views(g: Graph) -> list[str]:
    return [line.partition(" ")[0] for line in g.lines if '"fuse.view"' in line]


def broadcasts(x: Tensor, y: Tensor) -> bool:
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(x.sizes), reversed(y.sizes), strict=False))


@given(chains())
@settings(max_examples=30)
def test_random_chains_keep_their_numbers(chain: tuple[Graph, list[Tensor], dict[int, int]]) -> None:
    graph, outputs, mutates = chain
    check(graph, *outputs, mutates=mutates)


@given(chains())
@settings(max_examples=40)
def test_random_chains_keep_their_numbers_through_all_passes(
    chain: tuple[Graph, list[Tensor], dict[int, int]],
) -> None:
    graph, outputs, mutates = chain
    check(graph, *outputs, passes=SCHEDULED, mutates=mutates)
