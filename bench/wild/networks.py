"""Graph networks and tables: what is gathered from, and added up at, loaded indices."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .workload import BFLOAT16, Workloads

NETWORKS = Workloads()


@NETWORKS.add("graph_convolution", (100000, 1000000, 64), (32, 128, 8), slack=16.0)
def _graph_convolution(source: Source, nodes: int, edges: int, width: int):
    """Neighbours' features, weighed by degrees and added up."""

    def graph_convolution(x: Tensor, weight: Tensor, start: Tensor, end: Tensor) -> Tensor:
        degree = torch.zeros(nodes, device=x.device, dtype=x.dtype)
        degree = degree.index_add(0, end, torch.ones_like(end, dtype=x.dtype)).clamp(min=1)
        scale = degree.rsqrt()
        messages = (x @ weight)[start] * (scale[start] * scale[end])[:, None]
        return F.relu(torch.zeros_like(x).index_add(0, end, messages))

    weights = (source.normal(nodes, width), source.normal(width, width) / width**0.5)
    return graph_convolution, (*weights, source.integers(nodes, edges), source.integers(nodes, edges))


@NETWORKS.add("graph_attention", (100000, 1000000, 4, 16), (32, 128, 2, 4), slack=64.0)
def _graph_attention(source: Source, nodes: int, edges: int, heads: int, width: int):
    """A softmax over the edges that end in a node."""

    def graph_attention(x: Tensor, left: Tensor, right: Tensor, start: Tensor, end: Tensor) -> Tensor:
        score = F.leaky_relu((x * left).sum(-1)[start] + (x * right).sum(-1)[end], 0.2)
        places = end[:, None].expand(-1, heads)
        most = score.new_full((nodes, heads), -torch.inf).scatter_reduce(0, places, score, "amax")
        weight = (score - most[end]).exp()
        total = score.new_zeros(nodes, heads).scatter_add(0, places, weight)
        found = weight / (total[end] + 1e-16)
        return x.new_zeros(nodes, heads, width).index_add(0, end, x[start] * found[..., None])

    vectors = (source.normal(heads, width) for _ in range(2))
    args = (source.normal(nodes, heads, width), *vectors)
    return graph_attention, (*args, source.integers(nodes, edges), source.integers(nodes, edges))


@NETWORKS.add("edge_messages", (50000, 400000, 64), (32, 128, 8), BFLOAT16, slack=4.0)
def _edge_messages(source: Source, nodes: int, edges: int, width: int):
    """Features of both ends and of the edge, through a layer."""

    def edge_messages(
        x: Tensor, e: Tensor, weight: Tensor, bias: Tensor, start: Tensor, end: Tensor
    ) -> Tensor:
        return F.silu(torch.cat((x[start], x[end], e), -1) @ weight + bias)

    args = (source.normal(nodes, width), source.normal(edges, width))
    weights = (source.normal(3 * width, width) / (3 * width) ** 0.5, source.normal(width))
    return edge_messages, (*args, *weights, source.integers(nodes, edges), source.integers(nodes, edges))


@NETWORKS.add("radial_filters", (2000000, 50), (64, 8), slack=4.0)
def _radial_filters(source: Source, edges: int, filters: int):
    """Distances spread over Gaussians, with a smooth end, as in SchNet."""

    def radial_filters(apart: Tensor) -> Tensor:
        far = (apart.square().sum(-1) + 1e-6).sqrt()
        centers = torch.linspace(0, 5, filters, device=apart.device, dtype=apart.dtype)
        end = 0.5 * (torch.cos(far * 0.6283185307179586) + 1) * (far < 5)
        return torch.exp(-10 * (far[:, None] - centers).square()) * end[:, None]

    return radial_filters, (source.normal(edges, 3),)


@NETWORKS.add("segment_pooling", (500000, 64, 4096), (64, 8, 4), slack=16.0)
def _segment_pooling(source: Source, nodes: int, width: int, graphs: int):
    """Mean and maximum over the nodes of each graph of a batch."""

    def segment_pooling(x: Tensor, graph: Tensor) -> Tensor:
        count = x.new_zeros(graphs).index_add(0, graph, x.new_ones(nodes)).clamp(min=1)
        mean = x.new_zeros(graphs, width).index_add(0, graph, x) / count[:, None]
        most = x.new_full((graphs, width), -torch.inf).index_reduce(0, graph, x, "amax")
        return torch.cat((mean, most), 1)

    every = torch.arange(nodes, device=source.device) * graphs // nodes
    return segment_pooling, (source.normal(nodes, width), every)


@NETWORKS.add("embedding_bags", (16384, 26, 100000, 64), (8, 3, 50, 8), BFLOAT16, slack=4.0)
def _embedding_bags(source: Source, rows: int, tables: int, words: int, width: int):
    """Rows of many tables, and products of all pairs, as recommendation models have."""

    def embedding_bags(table: Tensor, places: Tensor, dense: Tensor) -> Tensor:
        x = torch.cat((table[places], dense[:, None]), 1)
        pairs = torch.bmm(x, x.mT)
        i, j = torch.tril_indices(tables + 1, tables + 1, -1, device=x.device)
        return torch.cat((dense, pairs[:, i, j]), 1)

    return embedding_bags, (
        source.normal(words, width), source.integers(words, rows, tables), source.normal(rows, width),
    )  # fmt: skip


@NETWORKS.add("factorisation_machine", (16384, 39, 64), (8, 3, 8))
def _factorisation_machine(source: Source, rows: int, fields: int, width: int):
    def factorisation_machine(x: Tensor, w: Tensor) -> Tensor:
        pairs = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(-1)
        return torch.sigmoid(pairs / width + (x * w).sum((1, 2)) / width)

    return factorisation_machine, (source.normal(rows, fields, width), source.normal(fields, width))


@NETWORKS.add("blockwise_int8", (8192, 16384), (8, 256), slack=4.0)
def _blockwise_int8(source: Source, rows: int, columns: int):
    """Quantised by blocks of 64 and back, as optimizers of 8 bits keep their moments."""

    def blockwise_int8(x: Tensor) -> tuple[Tensor, Tensor]:
        blocks = x.view(rows, -1, 64)
        scale = blocks.abs().amax(-1, keepdim=True) / 127 + 1e-12
        return (blocks / scale).round().clamp(-127, 127).to(torch.int8), scale

    return blockwise_int8, (source.normal(rows, columns),)


@NETWORKS.add("low_rank_linear", (8192, 2048, 16), (8, 16, 4), BFLOAT16, slack=4.0)
def _low_rank_linear(source: Source, rows: int, width: int, rank: int):
    """A layer with an adapter of low rank."""

    def low_rank_linear(x: Tensor, w: Tensor, down: Tensor, up: Tensor) -> Tensor:
        return F.gelu(x @ w + 2.0 * (x @ down) @ up, approximate="tanh")

    weights = (source.normal(a, b) / a**0.5 for a, b in ((width, width), (width, rank), (rank, width)))
    return low_rank_linear, (source.normal(rows, width), *weights)


@NETWORKS.add("spectral_weights", (4096, 4096), (16, 16), slack=16.0)
def _spectral_weights(source: Source, rows: int, columns: int):
    """A step of the power method, and the weight over its largest singular value."""

    def spectral_weights(w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        v = F.normalize(w.t() @ u, dim=0)
        u = F.normalize(w @ v, dim=0)
        return w / (u @ (w @ v)), u

    return spectral_weights, (source.normal(rows, columns), source.normal(rows))


__all__ = ["NETWORKS"]
