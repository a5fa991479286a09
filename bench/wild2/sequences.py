"""Sequences: recurrences, decoding, lattices, trees, and what lies in a cache."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import BFLOAT16, Workloads

SEQUENCES = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@SEQUENCES.add("decayed_states", (64, 48, 64), (2, 5, 4))
def _decayed_states(source: Source, heads: int, steps: int, width: int):
    """Matrices that decay by what is read and gain outer products, read at each step (RWKV 6)."""

    def decayed_states(r: Tensor, k: Tensor, v: Tensor, w: Tensor, u: Tensor, state: Tensor):
        out = []
        for t in range(steps):
            added = k[:, t, :, None] * v[:, t, None]
            out.append((r[:, t, :, None] * (state + u[..., None] * added)).sum(1))
            state = state * torch.exp(-torch.exp(w[:, t]))[..., None] + added
        return torch.stack(out, 1), state

    shape = (heads, steps, width)
    return decayed_states, (
        *(source.normal(*shape) for _ in range(3)), source.normal(*shape) - 2,
        source.normal(heads, width), source.normal(heads, width, width),
    )  # fmt: skip


@SEQUENCES.add("stabilised_gates", (65536, 40), (16, 6))
def _stabilised_gates(source: Source, cells: int, steps: int):
    """Exponential gates kept finite by a running maximum: the scalar cells of xLSTM."""

    def stabilised_gates(i: Tensor, f: Tensor, z: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
        c = n = torch.zeros_like(i[0])
        m = torch.full_like(c, -10.0)
        out = []
        for t in range(steps):
            keep = F.logsigmoid(f[t]) + m
            new = torch.maximum(keep, i[t])
            inp, forget = torch.exp(i[t] - new), torch.exp(keep - new)
            c, n, m = forget * c + inp * torch.tanh(z[t]), forget * n + inp, new
            out.append(torch.sigmoid(o[t]) * c / n)
        return torch.stack(out), m

    return stabilised_gates, tuple(source.normal(steps, cells) for _ in range(4))


@SEQUENCES.add("spiking_layer", (16, 256, 4096), (4, 3, 8), trains=1, **_TRAINED)
def _spiking_layer(source: Source, steps: int, batch: int, width: int):
    """Neurons that leak, fire and are reset; gradients through a smooth stand-in for the step."""

    def spiking_layer(current: Tensor, wanted: Tensor) -> Tensor:
        v = torch.zeros_like(current[0])
        total = torch.zeros_like(v)
        for t in range(steps):
            v = 0.9 * v + current[t]
            soft = torch.sigmoid(4 * (v - 1))
            fired = soft + ((v > 1).to(v.dtype) - soft).detach()
            v = v - fired.detach()
            total = total + fired
        return (total / steps * wanted).mean()

    return spiking_layer, (source.normal(steps, batch, width), source.normal(batch, width))


@SEQUENCES.add("best_path", (256, 64, 48), (3, 6, 4))
def _best_path(source: Source, batch: int, steps: int, states: int):
    """The likeliest path of a chain, traced back (Viterbi), and its score."""

    def best_path(score: Tensor, move: Tensor) -> tuple[Tensor, Tensor]:
        best, back = score[:, 0], []
        for t in range(1, steps):
            value, place = (best[:, :, None] + move).max(1)
            best = value + score[:, t]
            back.append(place)
        total, here = best.max(1)
        path = [here]
        for place in reversed(back):
            here = place.gather(1, here[:, None])[:, 0]
            path.append(here)
        return total, torch.stack(path[::-1], 1)

    return best_path, (source.normal(batch, steps, states), source.normal(states, states))


@SEQUENCES.add("warped_distance", (2048, 32), (3, 6))
def _warped_distance(source: Source, batch: int, length: int):
    """Soft dynamic time warping of pairs of sequences, diagonal by diagonal."""

    def warped_distance(x: Tensor, y: Tensor) -> Tensor:
        far = (x[:, :, None] - y[:, None]).square().sum(-1)
        i = torch.arange(length, device=x.device)
        one = torch.full((batch, length + 1), 1e5, device=x.device, dtype=x.dtype)
        before, last = one, F.pad(one[:, 1:], (1, 0))
        for d in range(2 * length - 1):
            j = d - i
            cost = far[:, i, j.clamp(0, length - 1)]
            near = torch.stack((last[:, :-1], before[:, :-1], before[:, 1:]))
            found = cost - 0.5 * torch.logsumexp(-near / 0.5, 0)
            found = torch.where((j >= 0) & (j < length), found, 1e5)
            last, before = before, F.pad(found, (1, 0), value=1e5)
        return before[:, -1]

    return warped_distance, tuple(source.normal(batch, length, 4) for _ in range(2))


@SEQUENCES.add("aligned_labels", (64, 64, 128), (2, 6, 4))
def _aligned_labels(source: Source, batch: int, frames: int, labels: int):
    """Forward variables of a lattice of labels and blanks, frame by frame, as CTC's loss has them."""
    states, classes = 2 * labels + 1, 1000 if labels > 50 else 8

    def aligned_labels(logits: Tensor, label: Tensor) -> Tensor:
        p = logits.log_softmax(-1)
        blank = torch.zeros_like(label)
        path = F.pad(torch.stack((blank, label), -1).flatten(1), (0, 1))
        skips = F.pad((path[:, 2:] != path[:, :-2]) & (path[:, 2:] != 0), (2, 0))
        alpha = torch.full((batch, states), -1e9, device=p.device, dtype=p.dtype)
        alpha = torch.cat((p[:, 0].gather(1, path[:, :2]), alpha[:, 2:]), 1)
        for t in range(1, frames):
            one = F.pad(alpha[:, :-1], (1, 0), value=-1e9)
            two = torch.where(skips, F.pad(alpha[:, :-2], (2, 0), value=-1e9), -1e9)
            alpha = torch.logsumexp(torch.stack((alpha, one, two)), 0) + p[:, t].gather(1, path)
        return alpha.amax(1)

    return aligned_labels, (
        source.normal(batch, frames, classes), source.integers(classes - 1, batch, labels) + 1,
    )  # fmt: skip


@SEQUENCES.add("advantages", (4096, 64), (6, 8))
def _advantages(source: Source, actors: int, steps: int):
    """Generalised advantages with ends of episodes, backwards in time, normalised."""

    def advantages(reward: Tensor, value: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        last = torch.zeros_like(value[0])
        found = []
        for t in reversed(range(steps)):
            on = 1 - done[t].to(value.dtype)
            delta = reward[t] + 0.99 * value[t + 1] * on - value[t]
            last = delta + 0.99 * 0.95 * on * last
            found.append(last)
        a = torch.stack(found[::-1])
        returns = a + value[:-1]
        return (a - a.mean()) / (a.std() + 1e-8), returns

    done = source.uniform(0.0, 1.0, steps, actors) < 0.02
    return advantages, (source.normal(steps, actors), source.normal(steps + 1, actors), done)


@SEQUENCES.add("corrected_returns", (8192, 40, 18), (4, 6, 3), trains=2, **_TRAINED)
def _corrected_returns(source: Source, actors: int, steps: int, actions: int):
    """V-trace targets from truncated ratios of two policies, and all three losses (IMPALA)."""

    def corrected_returns(logits: Tensor, value: Tensor, old: Tensor, action, reward, going) -> Tensor:
        p = logits.log_softmax(-1)
        chosen = p.gather(-1, action[..., None])[..., 0]
        ratio = (chosen - old).detach().exp()
        clipped = ratio.clamp(max=1.0)
        v = value.detach()
        delta = clipped * (reward + going * v[1:] - v[:-1])
        total, targets = torch.zeros_like(v[0]), []
        for t in reversed(range(steps)):
            total = delta[t] + going[t] * clipped[t] * total
            targets.append(total)
        target = torch.stack(targets[::-1]) + v[:-1]
        later = torch.cat((target[1:], v[-1:]))
        gain = clipped * (reward + going * later - v[:-1])
        entropy = -(p.exp() * p).sum(-1).mean()
        return -(chosen * gain).mean() + 0.5 * (target - value[:-1]).square().mean() - 0.01 * entropy

    return corrected_returns, (
        source.normal(steps, actors, actions), source.normal(steps + 1, actors),
        -source.uniform(1.0, 3.0, steps, actors), source.integers(actions, steps, actors),
        source.normal(steps, actors), source.uniform(0.9, 1.0, steps, actors),
    )  # fmt: skip


@SEQUENCES.add("priority_tree", (131072, 16384), (32, 8))
def _priority_tree(source: Source, size: int, drawn: int):
    """Leaves of a tree of sums are drawn by walking down from the root (prioritised replay)."""
    levels = size.bit_length() - 1

    def priority_tree(leaf: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        tree = torch.zeros(2 * size, device=leaf.device, dtype=leaf.dtype)
        tree[size:] = leaf
        for level in range(levels - 1, -1, -1):
            first = 1 << level
            tree[first : 2 * first] = tree[2 * first : 4 * first].view(-1, 2).sum(1)
        mass = at * tree[1]
        node = torch.ones_like(at, dtype=torch.int64)
        for _ in range(levels):
            left = tree[2 * node]
            right = mass >= left
            mass = torch.where(right, mass - left, mass)
            node = 2 * node + right
        return tree[1:2], (tree[node] * drawn / tree[1]).clamp(min=1e-6) ** -0.4

    # whole numbers: every sum and every step down is exact
    leaf = source.integers(64, size).to(source.dtype)
    return priority_tree, (leaf, (source.integers(2**14, drawn) / 2**14).to(source.dtype))


@SEQUENCES.add("tree_of_gates", (16384, 150), (16, 6))
def _tree_of_gates(source: Source, leaves: int, width: int):
    """Pairs of children into their parent, level by level; all nodes are kept, and looked up (N-ary LSTM)."""

    def tree_of_gates(h: Tensor, c: Tensor, u: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        hidden = h.new_zeros(2 * leaves, width)
        cells = torch.zeros_like(hidden)
        hidden[leaves:], cells[leaves:] = h, c
        first = leaves // 2
        while first:
            kids = hidden[2 * first : 4 * first].view(first, 2 * width)
            i, o, g, a, b = (kids @ u).chunk(5, -1)
            pair = cells[2 * first : 4 * first].view(first, 2, width)
            forget = torch.stack((a, b), 1).sigmoid()
            now = i.sigmoid() * g.tanh() + (forget * pair).sum(1)
            cells[first : 2 * first] = now
            hidden[first : 2 * first] = o.sigmoid() * now.tanh()
            first //= 2
        return hidden[asked], cells[1]

    return tree_of_gates, (
        source.normal(leaves, width), source.normal(leaves, width),
        source.normal(2 * width, 5 * width) / (2 * width) ** 0.5, source.integers(2 * leaves - 1, leaves) + 1,
    )  # fmt: skip


@SEQUENCES.add("reordered_beams", (8, 5, 16, 512, 64), (2, 3, 2, 8, 4), BFLOAT16, mutates=True)
def _reordered_beams(source: Source, batch: int, beams: int, heads: int, length: int, width: int):
    """Caches follow their beams, and a word's keys and values are written behind."""

    def reordered_beams(keys: Tensor, values: Tensor, k: Tensor, v: Tensor, parent: Tensor) -> Tensor:
        flat = (parent + torch.arange(batch, device=parent.device)[:, None] * beams).flatten()
        keys.copy_(keys.index_select(0, flat))
        values.copy_(values.index_select(0, flat))
        keys[:, :, length // 2] = k
        values[:, :, length // 2] = v
        return flat

    rows = batch * beams
    caches = (source.normal(rows, heads, length, width) for _ in range(2))
    new = (source.normal(rows, heads, width) for _ in range(2))
    return reordered_beams, (*caches, *new, source.integers(beams, batch, beams))


@SEQUENCES.add("tree_of_drafts", (32, 64, 32000), (2, 8, 12))
def _tree_of_drafts(source: Source, batch: int, nodes: int, words: int):
    """Which words of a tree of drafts the model agrees with along their whole path, and how far (Medusa)."""

    def tree_of_drafts(logits: Tensor, word: Tensor, parent: Tensor, above: Tensor) -> tuple[Tensor, Tensor]:
        best = logits.argmax(-1)
        agrees = best.gather(1, parent) == word
        whole = (agrees[:, None] | ~above).all(-1)
        deep = (above.sum(-1) * whole).amax(1)
        return deep, whole

    parent = torch.stack([torch.arange(nodes, device=source.device).sub(1).clamp(min=0) // 2] * batch)
    above = torch.eye(nodes, dtype=torch.bool, device=source.device)
    up = parent[0].clone()
    while up.any():
        above[torch.arange(nodes, device=source.device), up] = True
        up = parent[0][up]
    return tree_of_drafts, (
        source.normal(batch, nodes, words), source.integers(words, batch, nodes), parent, above,
    )  # fmt: skip


@SEQUENCES.add("typical_words", (256, 50257), (3, 20))
def _typical_words(source: Source, rows: int, words: int):
    """Words whose information is near the entropy and whose chance is not far below the best one's."""

    def typical_words(logits: Tensor) -> tuple[Tensor, Tensor]:
        p = logits.log_softmax(-1)
        entropy = -(p.exp() * p).sum(-1, keepdim=True)
        away = (-p - entropy).abs()
        order = away.sort(-1)
        mass = p.gather(-1, order.indices).exp().cumsum(-1)
        kept = mass - p.gather(-1, order.indices).exp() < 0.9
        chosen = torch.zeros_like(kept).scatter(-1, order.indices, kept)
        chosen = chosen & (p > p.amax(-1, keepdim=True) - 4.6)
        return entropy, torch.where(chosen, p.exp(), 0).sum(-1)

    return typical_words, (source.normal(rows, words),)


@SEQUENCES.add("long_convolution", (8, 256, 8192), (1, 4, 32), slack=16.0)
def _long_convolution(source: Source, batch: int, width: int, length: int):
    """Filters as long as the sequence, by Fourier transforms, between gates (Hyena)."""

    def long_convolution(x: Tensor, v: Tensor, gate: Tensor, k: Tensor, decay: Tensor, d: Tensor) -> Tensor:
        t = torch.arange(length, device=x.device, dtype=x.dtype) / length
        filters = k * torch.exp(-t * decay[:, None].abs())
        z = x * v
        y = torch.fft.irfft(torch.fft.rfft(z, 2 * length) * torch.fft.rfft(filters, 2 * length), 2 * length)
        return gate * (y[..., :length] + d[:, None] * z)

    inputs = (source.normal(batch, width, length) for _ in range(3))
    return long_convolution, (
        *inputs, source.normal(width, length) / length**0.5, source.normal(width) * 4, source.normal(width),
    )  # fmt: skip


@SEQUENCES.add("diagonal_kernel", (512, 16, 4096), (4, 3, 16), trains=3, **_TRAINED)
def _diagonal_kernel(source: Source, width: int, states: int, length: int):
    """The kernel of a diagonal state space: sums of decaying waves (S4D), real arithmetic."""

    def diagonal_kernel(decay: Tensor, pitch: Tensor, weight: Tensor, wanted: Tensor) -> Tensor:
        t = torch.arange(length, device=decay.device, dtype=decay.dtype) / length
        shrunk = torch.exp(-F.softplus(decay)[..., None] * t)
        waves = torch.cos(pitch[..., None] * t) * weight[..., None]
        return ((shrunk * waves).sum(1) * wanted).mean()

    return diagonal_kernel, (
        *(source.normal(width, states) for _ in range(3)), source.normal(width, length),
    )  # fmt: skip


@SEQUENCES.add("packed_documents", (16, 8192), (2, 24))
def _packed_documents(source: Source, batch: int, length: int):
    """Where each document starts, places within it, its number, and labels that do not cross ends."""

    def packed_documents(words: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        ends = words == 0
        starts = F.pad(ends[:, :-1], (1, 0), value=True)
        number = starts.cumsum(1) - 1
        every = torch.arange(length, device=words.device).expand(batch, -1)
        first = torch.where(starts, every, 0).cummax(1).values
        label = torch.where(ends, -100, F.pad(words[:, 1:], (0, 1), value=-100))
        hashed = (words * 31 + F.pad(words[:, :-1], (1, 0))) * 31 + F.pad(words[:, :-2], (2, 0))
        return number, every - first, label, hashed % 65521

    return packed_documents, (source.integers(200 if length > 100 else 5, batch, length),)


__all__ = ["SEQUENCES"]
