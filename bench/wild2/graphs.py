"""Graph networks of molecules, users and meshes: messages between nodes, and their gradients."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import Workloads

GRAPHS = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


def _edges(source: Source, nodes: int, edges: int, *, sorted_ends: bool = False) -> tuple[Tensor, Tensor]:
    """(senders, receivers), int64; receivers in ascending order if so told."""
    start, end = source.integers(nodes, edges), source.integers(nodes, edges)
    return start, end.sort().values if sorted_ends else end


@GRAPHS.add("vector_messages", (20000, 400000, 64), (24, 96, 8), trains=4, **_TRAINED)
def _vector_messages(source: Source, nodes: int, edges: int, width: int):
    """Scalars and vectors of atoms, mixed by a filter of each edge, as in PaiNN; receivers in order."""

    def vector_messages(
        s: Tensor, v: Tensor, filters: Tensor, along: Tensor, start: Tensor, end: Tensor, weight: Tensor
    ) -> Tensor:
        scalar, radial, kept = (s[start].repeat(1, 3) * filters).chunk(3, 1)
        new_s = s.index_add(0, end, scalar)
        new_v = v.index_add(0, end, v[start] * kept[:, None] + along[:, :, None] * radial[:, None])
        return ((new_s + new_v.square().sum(1)) * weight).mean()

    start, end = _edges(source, nodes, edges, sorted_ends=True)
    return vector_messages, (
        source.normal(nodes, width), source.normal(nodes, 3, width), source.normal(edges, 3 * width),
        source.normal(edges, 3), start, end, source.normal(nodes, width),
    )  # fmt: skip


@GRAPHS.add("angular_messages", (100000, 600000, 32), (48, 128, 8), trains=2, **_TRAINED)
def _angular_messages(source: Source, edges: int, triplets: int, width: int):
    """Messages from edge to edge, weighed by the angle between them, as in DimeNet."""

    def angular_messages(m: Tensor, along: Tensor, mix: Tensor, start: Tensor, end: Tensor) -> Tensor:
        ways = F.normalize(along, dim=-1)
        cosine = (ways[start] * ways[end]).sum(-1)
        second = 1.5 * cosine * cosine - 0.5
        third = (5 * cosine**3 - 3 * cosine) / 2
        basis = torch.stack((torch.ones_like(cosine), cosine, second, third), 1)
        found = torch.zeros_like(m).index_add(0, end, m[start] * (basis @ mix))
        return F.silu(m + found).square().mean()

    start, end = _edges(source, edges, triplets)
    vectors = (source.normal(edges, width), source.normal(edges, 3), source.normal(4, width))
    return angular_messages, (*vectors, start, end)


@GRAPHS.add("dynamic_attention", (50000, 500000, 4, 16), (24, 96, 2, 4), trains=3, **_TRAINED)
def _dynamic_attention(source: Source, nodes: int, edges: int, heads: int, width: int):
    """Scores from the sum of both ends, a softmax over each receiver's edges (in order), as in GATv2."""

    def dynamic_attention(left: Tensor, right: Tensor, a: Tensor, start: Tensor, end: Tensor) -> Tensor:
        sent = left[start]
        score = (F.leaky_relu(sent + right[end], 0.2) * a).sum(-1)
        places = end[:, None].expand(-1, heads)
        most = score.detach().new_full((nodes, heads), -torch.inf)
        most = most.scatter_reduce(0, places, score.detach(), "amax")
        weight = (score - most[end]).exp()
        total = torch.zeros_like(most).index_add(0, end, weight) + 1e-16
        found = torch.zeros_like(left).index_add(0, end, sent * (weight / total[end])[..., None])
        return F.elu(found).square().mean()

    start, end = _edges(source, nodes, edges, sorted_ends=True)
    sides = (source.normal(nodes, heads, width) for _ in range(2))
    return dynamic_attention, (*sides, source.normal(heads, width), start, end)


@GRAPHS.add("moved_nodes", (30000, 480000, 32), (24, 96, 8))
def _moved_nodes(source: Source, nodes: int, edges: int, width: int):
    """Nodes pushed along their edges by a gate of features and distance, as in EGNN."""

    def moved_nodes(h: Tensor, at: Tensor, w: Tensor, gate: Tensor, start: Tensor, end: Tensor):
        apart = at[end] - at[start]
        far = apart.square().sum(-1, keepdim=True)
        m = F.silu(torch.cat((h[start], h[end], far), -1) @ w)
        push = torch.tanh(m @ gate) * apart / (far.sqrt() + 1)
        count = torch.zeros_like(at[:, :1]).index_add(0, end, torch.ones_like(far)).clamp(min=1)
        return at.index_add(0, end, push) / count, h.index_add(0, end, m)

    start, end = _edges(source, nodes, edges)
    weights = (source.normal(2 * width + 1, width) / (2 * width) ** 0.5, source.normal(width, 1) / width)
    return moved_nodes, (source.normal(nodes, width), source.normal(nodes, 3), *weights, start, end)


@GRAPHS.add("many_aggregators", (40000, 600000, 48), (24, 96, 8))
def _many_aggregators(source: Source, nodes: int, edges: int, width: int):
    """Mean, deviation, maximum and minimum of sorted messages, scaled by degrees, as in PNA."""

    def many_aggregators(x: Tensor, start: Tensor, end: Tensor) -> Tensor:
        sent = x[start]
        empty = torch.zeros_like(x)
        degree = empty[:, :1].index_add(0, end, torch.ones_like(sent[:, :1])).clamp(min=1)
        mean = empty.index_add(0, end, sent) / degree
        deviation = (empty.index_add(0, end, sent * sent) / degree - mean * mean).relu().add(1e-2).sqrt()
        places = end[:, None].expand(-1, width)
        most = empty.scatter_reduce(0, places, sent, "amax", include_self=False)
        least = empty.scatter_reduce(0, places, sent, "amin", include_self=False)
        found = torch.cat((mean, deviation, most, least), 1)
        grown = (degree + 1).log() / 2.5
        return torch.cat((found, found * grown, found / grown), 1)

    return many_aggregators, (source.normal(nodes, width), *_edges(source, nodes, edges, sorted_ends=True))


@GRAPHS.add("propagated_users", (60000, 500000, 64), (24, 96, 8), trains=1, **_TRAINED)
def _propagated_users(source: Source, nodes: int, edges: int, width: int):
    """Three rounds of weighed neighbours and their mean, with a ranking loss, as in LightGCN."""

    def propagated_users(x: Tensor, weight: Tensor, start: Tensor, end: Tensor, pairs: Tensor) -> Tensor:
        total, now = x, x
        for _ in range(3):
            now = torch.zeros_like(x).index_add(0, end, now[start] * weight[:, None])
            total = total + now
        user, good, bad = (total[pairs[i]] / 4 for i in range(3))
        return -F.logsigmoid((user * (good - bad)).sum(-1)).mean()

    start, end = _edges(source, nodes, edges)
    return propagated_users, (
        source.normal(nodes, width), source.uniform(0.05, 0.2, edges), start, end,
        source.integers(nodes, 3, edges // 8),
    )  # fmt: skip


@GRAPHS.add("sampled_neighbours", (200000, 20000, 25, 128), (48, 16, 5, 8), trains=2, **_TRAINED)
def _sampled_neighbours(source: Source, nodes: int, seeds: int, fanout: int, width: int):
    """The maximum over a fixed number of neighbours through a layer, as in GraphSAGE."""

    def sampled_neighbours(x: Tensor, weight: Tensor, seeds: Tensor, near: Tensor, wanted: Tensor) -> Tensor:
        pooled = F.relu(x[near] @ weight).amax(1)
        return (F.normalize(torch.cat((x[seeds], pooled), 1), dim=1) * wanted).mean()

    table = (source.normal(nodes, width), source.normal(width, width) / width**0.5)
    places = (source.integers(nodes, seeds), source.integers(nodes, seeds, fanout))
    return sampled_neighbours, (*table, *places, source.normal(seeds, 2 * width))


@GRAPHS.add("typed_relations", (50000, 400000, 32, 8), (24, 96, 8, 3))
def _typed_relations(source: Source, nodes: int, edges: int, width: int, relations: int):
    """Each edge's type mixes four bases, as in R-GCN."""

    def typed_relations(x, bases, mix, start, end, kind):
        sent = torch.einsum("ni,bio->nbo", x, bases)[start]
        messages = (sent * mix[kind][..., None]).sum(1)
        return F.relu(x.index_add(0, end, messages / 8))

    start, end = _edges(source, nodes, edges)
    weights = (source.normal(4, width, width) / width**0.5, source.normal(relations, 4))
    return typed_relations, (
        source.normal(nodes, width), *weights, start, end, source.integers(relations, edges),
    )  # fmt: skip


@GRAPHS.add("spherical_harmonics", (500000, 8), (48, 4), trains=2, **_TRAINED)
def _spherical_harmonics(source: Source, edges: int, channels: int):
    """Harmonics up to the third degree of unit vectors times radial weights, with forces (e3nn)."""

    def spherical_harmonics(along: Tensor, radial: Tensor, wanted: Tensor) -> Tensor:
        x, y, z = F.normalize(along, dim=-1).unbind(-1)
        xx, yy, zz = x * x, y * y, z * z
        found = torch.stack(
            (
                torch.ones_like(x), x, y, z, 1.732 * x * z, 1.732 * x * y, yy - 0.5 * (xx + zz),
                1.732 * y * z, 0.866 * (zz - xx), 0.79 * x * (zz * 3 - xx), 3.87 * x * y * z,
                0.612 * x * (4 * yy - xx - zz), 0.5 * y * (2 * yy - 3 * xx - 3 * zz),
                0.612 * z * (4 * yy - xx - zz), 1.936 * y * (zz - xx), 0.79 * z * (zz - 3 * xx),
            ),
            -1,
        )  # fmt: skip
        return (found[:, None] * radial[..., None] * wanted).mean()

    return spherical_harmonics, (
        source.normal(edges, 3), source.normal(edges, channels), source.normal(edges, channels, 16),
    )  # fmt: skip


@GRAPHS.add("equivariant_products", (20000, 200000, 16), (24, 96, 4), trains=3, **_TRAINED)
def _equivariant_products(source: Source, nodes: int, edges: int, channels: int):
    """Products of scalars, vectors and the symmetric traceless part, summed at receivers in order."""

    def equivariant_products(s: Tensor, v: Tensor, along: Tensor, radial: Tensor, start, end) -> Tensor:
        v1, s1, u = v[start], s[start], along[:, None]
        inner = (v1 * u).sum(-1)
        turned = torch.linalg.cross(v1, u.expand_as(v1))
        outer = v1[..., :, None] * u[..., None, :]
        outer = (outer + outer.mT) / 2 - inner[..., None, None] / 3 * torch.eye(3, device=s.device)
        w = radial.view(edges, channels, 4)
        scalars = torch.zeros_like(s).index_add(0, end, w[..., 0] * s1 + w[..., 1] * inner)
        vectors = torch.zeros_like(v).index_add(0, end, w[..., 2, None] * turned + s1[..., None] * u)
        matrices = s.new_zeros(*s.shape, 3, 3).index_add(0, end, w[..., 3, None, None] * outer)
        return (scalars.square() + vectors.square().sum(-1) + matrices.square().sum((-1, -2))).mean()

    start, end = _edges(source, nodes, edges, sorted_ends=True)
    return equivariant_products, (
        source.normal(nodes, channels), source.normal(nodes, channels, 3), source.normal(edges, 3),
        source.normal(edges, channels * 4), start, end,
    )  # fmt: skip


@GRAPHS.add("bonded_forces", (90000, 160000, 200000), (48, 64, 48), slack=4.0)
def _bonded_forces(source: Source, atoms: int, angles: int, torsions: int):
    """Forces of bonds, angles and torsions of a molecule, added up at its atoms, and a step of Langevin's."""

    def bonded_forces(at: Tensor, speed: Tensor, bond: Tensor, angle: Tensor, torsion: Tensor):
        force = torch.zeros_like(at)
        d = at[bond[1]] - at[bond[0]]
        far = d.square().sum(-1, keepdim=True).add(0.01).sqrt()
        pull = 300 * (far - 1) / far * d
        force = force.index_add(0, bond[0], pull).index_add(0, bond[1], -pull)
        a, b = at[angle[0]] - at[angle[1]], at[angle[2]] - at[angle[1]]
        na, nb = (t.square().sum(-1, keepdim=True).add(0.01).rsqrt() for t in (a, b))
        cosine = (a * b).sum(-1, keepdim=True) * na * nb
        slope = -50 * (cosine + 0.4)
        fa = slope * (b * nb - cosine * a * na) * na
        fb = slope * (a * na - cosine * b * nb) * nb
        force = force.index_add(0, angle[0], fa).index_add(0, angle[2], fb).index_add(0, angle[1], -fa - fb)
        p, q, r, s = (at[torsion[i]] for i in range(4))
        n = torch.linalg.cross(q - p, r - q)
        m = torch.linalg.cross(r - q, s - r)
        nn, mm = (t.square().sum(-1, keepdim=True) + 0.1 for t in (n, m))
        bend = (n * m).sum(-1, keepdim=True) / (nn * mm).sqrt()
        force = force.index_add(0, torsion[0], bend * n / nn).index_add(0, torsion[3], -bend * m / mm)
        speed = 0.99 * speed + 0.001 * force
        return at + 0.001 * speed, speed

    ends = torch.arange(atoms - 1, device=source.device)
    return bonded_forces, (
        source.normal(atoms, 3), source.normal(atoms, 3), torch.stack((ends, ends + 1)),
        source.integers(atoms, 3, angles), source.integers(atoms, 4, torsions),
    )  # fmt: skip


__all__ = ["GRAPHS"]
