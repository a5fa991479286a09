"""Recommenders, rankings, and what is looked up by hashes and bins."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import Workloads

TABLES = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@TABLES.add("watched_history", (4096, 100, 64), (6, 5, 8), trains=2, **_TRAINED)
def _watched_history(source: Source, rows: int, length: int, width: int):
    """A candidate weighs what its user has seen by a small network, as in DIN."""

    def watched_history(table: Tensor, weight: Tensor, out: Tensor, seen: Tensor, item: Tensor) -> Tensor:
        past, wanted = table[seen], table[item][:, None].expand(-1, length, -1)
        joined = torch.cat((past, wanted, past - wanted, past * wanted), -1)
        score = (torch.sigmoid(joined @ weight) @ out).masked_fill(seen == 0, 0.0)
        pooled = (score[..., None] * past).sum(1)
        return F.softplus(-(pooled * wanted[:, 0]).sum(-1)).mean()

    items = 50000 if rows > 100 else 20
    return watched_history, (
        source.normal(items, width), source.normal(4 * width, 36) / width, source.normal(36) / 6,
        source.integers(items, rows, length), source.integers(items, rows),
    )  # fmt: skip


@TABLES.add("sampled_softmax", (8192, 128), (8, 8), trains=2, **_TRAINED)
def _sampled_softmax(source: Source, rows: int, width: int):
    """Users against the items of the batch, corrected by frequencies; the same item is no negative."""

    def sampled_softmax(user: Tensor, item: Tensor, often: Tensor, name: Tensor) -> Tensor:
        logits = user @ item.T / 0.1 - often.log()
        same = name[:, None] == name
        every = torch.arange(rows, device=user.device)
        same = same & (every[:, None] != every)
        return F.cross_entropy(logits.masked_fill(same, -1e9), every)

    sides = (F.normalize(source.normal(rows, width), dim=-1) for _ in range(2))
    return sampled_softmax, (*sides, source.uniform(0.001, 1.0, rows), source.integers(rows, rows))


@TABLES.add("padded_bags", (16384, 40, 200000, 32), (8, 4, 30, 4), trains=1, **_TRAINED)
def _padded_bags(source: Source, rows: int, most: int, words: int, width: int):
    """Means of bags of different lengths; the gradient is a scatter into the table."""

    def padded_bags(table: Tensor, words: Tensor, length: Tensor, weight: Tensor) -> Tensor:
        kept = torch.arange(most, device=table.device) < length[:, None]
        total = (F.embedding(words, table) * kept[..., None]).sum(1)
        return (total / length.clamp(min=1)[:, None] * weight).sum(-1).tanh().mean()

    return padded_bags, (
        source.normal(words, width), source.integers(words, rows, most),
        source.integers(most + 1, rows), source.normal(width),
    )  # fmt: skip


@TABLES.add("ranked_pairs", (262144, 100000, 64), (16, 20, 8), trains=3, **_TRAINED)
def _ranked_pairs(source: Source, rows: int, items: int, width: int):
    """Factors of users and items with biases, a preferred and a random item, as in BPR."""

    def ranked_pairs(users: Tensor, items: Tensor, bias: Tensor, u: Tensor, i: Tensor, j: Tensor) -> Tensor:
        p, q, r = F.embedding(u, users), F.embedding(i, items), F.embedding(j, items)
        x = (p * (q - r)).sum(-1) + bias[i] - bias[j]
        return -F.logsigmoid(x).mean() + 1e-3 * (p.square() + q.square() + r.square()).sum(-1).mean()

    return ranked_pairs, (
        source.normal(items // 2, width), source.normal(items, width), source.normal(items),
        source.integers(items // 2, rows), source.integers(items, rows), source.integers(items, rows),
    )  # fmt: skip


@TABLES.add("several_hashes", (65536, 26, 65536, 16), (6, 3, 16, 4))
def _several_hashes(source: Source, rows: int, fields: int, buckets: int, width: int):
    """Three hashes of each category, their rows added with signs, as in hash and Bloom embeddings."""

    def several_hashes(table: Tensor, words: Tensor) -> Tensor:
        found = 0
        for prime, shift in ((2654435761, 7), (2246822519, 13), (3266489917, 11)):
            mixed = (words * prime) & 0xFFFFFFFF
            mixed = mixed ^ (mixed >> shift)
            sign = 1 - 2 * ((mixed >> 20) & 1).to(table.dtype)
            found = found + table[mixed % buckets] * sign[..., None]
        return F.layer_norm(found.flatten(1), (fields * width,))

    return several_hashes, (source.normal(buckets, width), source.integers(2**31, rows, fields))


@TABLES.add("two_part_tables", (131072, 20, 1024, 32), (6, 3, 16, 4), trains=2, **_TRAINED)
def _two_part_tables(source: Source, rows: int, fields: int, buckets: int, width: int):
    """Quotient and remainder look up a table each; their product stands for the category."""

    def two_part_tables(first: Tensor, second: Tensor, words: Tensor, weight: Tensor) -> Tensor:
        found = first[words // buckets] * second[words % buckets]
        return ((found * weight).sum((1, 2)) / fields).sigmoid().mean()

    tables = (source.normal(buckets, width) for _ in range(2))
    return two_part_tables, (
        *tables, source.integers(buckets * buckets, rows, fields), source.normal(fields, width),
    )  # fmt: skip


@TABLES.add("piecewise_numbers", (16384, 64, 48, 16), (6, 3, 5, 4))
def _piecewise_numbers(source: Source, rows: int, features: int, bins: int, width: int):
    """Numbers as how far they fill each of their feature's bins, through a layer of each feature."""

    def piecewise_numbers(x: Tensor, edges: Tensor, weight: Tensor) -> Tensor:
        low, high = edges[:, :-1], edges[:, 1:]
        filled = ((x[..., None] - low) / (high - low + 1e-3)).clamp(0, 1)
        return F.relu(torch.einsum("rfb,fbw->rfw", filled, weight))

    edges = source.uniform(-2.0, 2.0, features, bins + 1).sort(1).values
    return piecewise_numbers, (source.normal(rows, features), edges, source.normal(features, bins, width))


@TABLES.add("binned_features", (1000000, 28, 255), (64, 3, 15))
def _binned_features(source: Source, rows: int, features: int, bins: int):
    """Each column's place among its sorted borders, as gradient boosting stores them."""

    def binned_features(x: Tensor, borders: Tensor) -> Tensor:
        return torch.searchsorted(borders, x.contiguous()).to(torch.uint8)

    borders = source.normal(features, bins).sort(1).values
    return binned_features, (source.normal(features, rows), borders)


@TABLES.add("split_histograms", (500000, 16, 64), (64, 3, 8), slack=4.0)
def _split_histograms(source: Source, rows: int, features: int, bins: int):
    """Sums of gradients and curvatures by bin of each feature, and the gain of every split."""

    def split_histograms(place: Tensor, gradient: Tensor, curve: Tensor) -> Tensor:
        first = torch.arange(features, device=place.device) * bins
        flat = (place + first).flatten()
        sums = []
        for each in (gradient, curve):
            total = each.new_zeros(features * bins)
            total = total.index_add(0, flat, each[:, None].expand(-1, features).flatten())
            sums.append(total.view(features, bins).cumsum(1))
        g, h = sums
        left, right = g.square() / (h + 1), (g[:, -1:] - g).square() / (h[:, -1:] - h + 1)
        return left + right - g[:, -1:].square() / (h[:, -1:] + 1)

    return split_histograms, (
        source.integers(bins, rows, features), source.normal(rows), source.uniform(0.1, 1.0, rows),
    )  # fmt: skip


@TABLES.add("lambda_rank", (512, 256), (3, 8), trains=1, **_TRAINED)
def _lambda_rank(source: Source, queries: int, items: int):
    """Pairs weighed by what their swap would change of the discounted gain."""

    def lambda_rank(score: Tensor, label: Tensor) -> Tensor:
        place = score.detach().argsort(dim=1, descending=True, stable=True).argsort(1)
        discount = 1 / torch.log2(place.to(score.dtype) + 2)
        gain = torch.exp2(label) - 1
        ideal = gain.sort(1, descending=True).values
        order = torch.arange(items, device=score.device)
        best = (ideal / torch.log2(order.to(score.dtype) + 2)).sum(1)
        swap = (gain[:, :, None] - gain[:, None]).abs() * (discount[:, :, None] - discount[:, None]).abs()
        better = label[:, :, None] > label[:, None]
        loss = F.softplus(-(score[:, :, None] - score[:, None])) * swap / best[:, None, None]
        return torch.where(better, loss, 0).sum((1, 2)).mean()

    return lambda_rank, (source.normal(queries, items), source.integers(5, queries, items).to(source.dtype))


@TABLES.add("listed_likelihood", (16384, 512), (4, 8), trains=1, **_TRAINED)
def _listed_likelihood(source: Source, queries: int, items: int):
    """The likelihood of an order of items: sums of exponentials from each place on (ListMLE)."""

    def listed_likelihood(score: Tensor, order: Tensor) -> Tensor:
        s = score.gather(1, order)
        rest = torch.logcumsumexp(s.flip(1), 1).flip(1)
        return (rest - s).mean()

    return listed_likelihood, (source.normal(queries, items), source.normal(queries, items).argsort(1))


@TABLES.add("signed_hashes", (65536, 128, 8, 14), (16, 8, 2, 4))
def _signed_hashes(source: Source, rows: int, width: int, tables: int, bits: int):
    """Buckets of locality sensitive hashes, and how many rows fall into each."""

    def signed_hashes(x: Tensor, planes: Tensor) -> tuple[Tensor, Tensor]:
        up = (x @ planes).view(rows, tables, bits) > 0
        powers = 1 << torch.arange(bits, device=x.device)
        code = (up * powers).sum(-1)
        flat = (code + torch.arange(tables, device=x.device) * (1 << bits)).flatten()
        count = torch.zeros(tables << bits, dtype=torch.int64, device=x.device)
        count = count.index_add(0, flat, torch.ones_like(flat))
        size = count[flat].view(rows, tables).to(x.dtype)
        return count, size.log().mean(1)

    # small whole numbers: the side of a plane is exact in every dtype
    return signed_hashes, (
        source.integers(9, rows, width).to(source.dtype) - 4,
        source.integers(9, width, tables * bits).to(source.dtype) - 3.5,
    )  # fmt: skip


__all__ = ["TABLES"]
