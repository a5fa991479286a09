"""Scientific learning: transport, filters, solvers, layers with unusual geometry."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import Workloads

SCIENCE = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@SCIENCE.add("transport_plan", (64, 512, 10), (2, 8, 3), slack=4.0)
def _transport_plan(source: Source, batch: int, points: int, rounds: int):
    """Sinkhorn's rounds in logarithms, and the cost of the plan."""

    def transport_plan(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        cost = (x[:, :, None] - y[:, None]).square().sum(-1)
        f = torch.zeros_like(cost[:, :, 0])
        g = torch.zeros_like(f)
        for _ in range(rounds):
            f = -0.1 * torch.logsumexp((g[:, None] - cost) / 0.1, 2)
            g = -0.1 * torch.logsumexp((f[:, :, None] - cost) / 0.1, 1)
        plan = torch.exp((f[:, :, None] + g[:, None] - cost) / 0.1)
        return (plan * cost).sum((1, 2)) / points, plan.sum(2)

    return transport_plan, tuple(source.uniform(0.0, 1.0, batch, points, 2) for _ in range(2))


@SCIENCE.add("drawn_particles", (1024, 4096), (3, 16))
def _drawn_particles(source: Source, filters: int, particles: int):
    """Weights by what was seen, their sums, a search of even steps in these, and the particles there."""

    def drawn_particles(x: Tensor, noise: Tensor, seen: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        x = 0.9 * x + 0.3 * noise
        p = (-0.5 * (x - seen[:, None]).square() / 0.5).softmax(-1)
        size = 1 / p.square().sum(-1)
        even = (torch.arange(particles, device=x.device) + start[:, None]) / particles
        place = torch.searchsorted(p.cumsum(-1), even).clamp(max=particles - 1)
        drawn = x.gather(1, place)
        return drawn.mean(1), size

    return drawn_particles, (
        source.normal(filters, particles), source.normal(filters, particles), source.normal(filters),
        source.uniform(0.0, 1.0, filters),
    )  # fmt: skip


@SCIENCE.add("adaptive_step", (4096, 64), (4, 6), slack=4.0)
def _adaptive_step(source: Source, batch: int, width: int):
    """One step of Dormand and Prince's method of a small network, with its error's norm."""
    table = (
        (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    )  # fmt: skip
    error = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)

    def adaptive_step(y: Tensor, w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        def slope(x: Tensor) -> Tensor:
            return torch.tanh((x**3) @ w) @ u

        k = [slope(y)]
        now = y
        for row in table:
            now = y + 0.05 * sum(a * s for a, s in zip(row, k, strict=True))
            k.append(slope(now))
        wrong = 0.05 * sum(e * s for e, s in zip(error, k, strict=True))
        scale = 1e-2 + 1e-2 * torch.maximum(y.abs(), now.abs())
        return now, (wrong / scale).square().mean(-1).sqrt()

    weights = (source.normal(width, 2 * width) / width, source.normal(2 * width, width) / width**0.5)
    return adaptive_step, (source.normal(batch, width), *weights)


@SCIENCE.add("chaotic_orbits", (1048576, 6), (64, 3))
def _chaotic_orbits(source: Source, orbits: int, steps: int):
    """Lorenz's equations by the classical method of fourth order, and how fast neighbours part."""

    def slope(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    def chaotic_orbits(at: Tensor, beside: Tensor) -> tuple[Tensor, Tensor]:
        ends = []
        for start in (at, at + 1e-2 * beside):
            now = tuple(start.unbind(0))
            for _ in range(steps):
                a = slope(*now)
                b = slope(*(s + 0.002 * k for s, k in zip(now, a, strict=True)))
                c = slope(*(s + 0.002 * k for s, k in zip(now, b, strict=True)))
                d = slope(*(s + 0.004 * k for s, k in zip(now, c, strict=True)))
                parts = zip(now, a, b, c, d, strict=True)
                now = tuple(s + 0.004 / 6 * (k + 2 * m + 2 * n + o) for s, k, m, n, o in parts)
            ends.append(torch.stack(now))
        apart = (ends[1] - ends[0]).square().sum(0).sqrt()
        return ends[0], apart

    return chaotic_orbits, (source.normal(3, orbits) * 5, source.normal(3, orbits))


@SCIENCE.add("stored_patterns", (4096, 2048, 256, 3), (8, 12, 4, 2), slack=4.0)
def _stored_patterns(source: Source, queries: int, patterns: int, width: int, rounds: int):
    """A state is pulled to stored patterns again and again, with its energy (modern Hopfield)."""

    def stored_patterns(q: Tensor, stored: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(rounds):
            q = (0.5 * q @ stored.T).softmax(-1) @ stored
        energy = -2 * torch.logsumexp(0.5 * q @ stored.T, -1) + 0.5 * q.square().sum(-1)
        return q, energy

    return stored_patterns, (source.normal(queries, width), source.normal(patterns, width))


@SCIENCE.add("spline_layer", (16384, 32, 32), (6, 4, 3), trains=3, **_TRAINED)
def _spline_layer(source: Source, rows: int, inputs: int, outputs: int):
    """Cubic B-splines of each input by recursion over their degree, beside a SiLU (KAN)."""

    def spline_layer(x: Tensor, base: Tensor, coefficients: Tensor, knots: Tensor) -> Tensor:
        x0 = x[..., None]
        b = ((x0 >= knots[:-1]) & (x0 < knots[1:])).to(x.dtype)
        for degree in range(1, 4):
            left = (x0 - knots[: -degree - 1]) / (knots[degree:-1] - knots[: -degree - 1])
            right = (knots[degree + 1 :] - x0) / (knots[degree + 1 :] - knots[1:-degree])
            b = left * b[..., :-1] + right * b[..., 1:]
        found = F.silu(x) @ base + b.flatten(1) @ coefficients
        return found.square().mean()

    knots = torch.linspace(-2.2, 2.2, 12, device=source.device, dtype=source.dtype)
    return spline_layer, (
        source.normal(rows, inputs), source.normal(inputs, outputs) / inputs**0.5,
        source.normal(inputs * 8, outputs) / inputs**0.5, knots,
    )  # fmt: skip


@SCIENCE.add("routed_capsules", (128, 1152, 10, 16), (2, 6, 3, 4), trains=1, **_TRAINED)
def _routed_capsules(source: Source, batch: int, inner: int, outer: int, width: int):
    """Votes weighed in three rounds by how much they agree with their outcome, squashed."""

    def squash(s: Tensor) -> Tensor:
        size = s.square().sum(-1, keepdim=True)
        return size / (1 + size) * s / (size + 1e-8).sqrt()

    def routed_capsules(w: Tensor, x: Tensor, wanted: Tensor) -> Tensor:
        votes = torch.einsum("iojw,bij->biow", w, x)
        still = votes.detach()
        logit = torch.zeros_like(votes[..., 0])
        for _ in range(2):
            v = squash((logit.softmax(2)[..., None] * still).sum(1))
            logit = logit + (still * v[:, None]).sum(-1)
        long = squash((logit.softmax(2)[..., None] * votes).sum(1)).square().sum(-1).add(1e-8).sqrt()
        return (wanted * F.relu(0.9 - long) ** 2 + 0.5 * (1 - wanted) * F.relu(long - 0.1) ** 2).mean()

    hot = F.one_hot(source.integers(outer, batch), outer).to(source.dtype)
    return routed_capsules, (source.normal(inner, outer, 8, width) / 8, source.normal(batch, inner, 8), hot)


@SCIENCE.add("curved_layer", (131072, 64, 20), (8, 4, 3), trains=2, **_TRAINED)
def _curved_layer(source: Source, rows: int, width: int, classes: int):
    """Points of a ball moved by Mobius' sum, and their distances to prototypes in it (Poincare)."""

    def curved_layer(x: Tensor, prototypes: Tensor, bias: Tensor, label: Tensor) -> Tensor:
        size = x.square().sum(-1, keepdim=True).clamp(min=1e-6).sqrt()
        x = torch.tanh(size) * x / size
        xx, bb, xb = x.square().sum(-1, keepdim=True), bias.square().sum(), (x * bias).sum(-1, keepdim=True)
        x = ((1 + 2 * xb + bb) * x + (1 - xx) * bias) / (1 + 2 * xb + xx * bb)
        xx, pp = x.square().sum(-1, keepdim=True), prototypes.square().sum(-1)
        apart = (xx + pp - 2 * x @ prototypes.T).clamp(min=0)
        far = torch.acosh(1 + 2 * apart / ((1 - xx).clamp(min=1e-3) * (1 - pp)) + 1e-5)
        return F.cross_entropy(-far, label)

    return curved_layer, (
        source.normal(rows, width) / width**0.5, source.normal(classes, width) / (3 * width**0.5),
        source.normal(width) / (4 * width**0.5), source.integers(classes, rows),
    )  # fmt: skip


@SCIENCE.add("pressure_solver", (1024, 1024, 12), (12, 12, 3), slack=16.0)
def _pressure_solver(source: Source, high: int, wide: int, rounds: int):
    """Conjugate gradients of Poisson's equation with a stencil, as simulations of flows solve it."""

    def laplace(p: Tensor) -> Tensor:
        q = F.pad(p, (1, 1, 1, 1))
        return 4 * p - q[2:, 1:-1] - q[:-2, 1:-1] - q[1:-1, 2:] - q[1:-1, :-2]

    def pressure_solver(b: Tensor) -> tuple[Tensor, Tensor]:
        x, r = torch.zeros_like(b), b
        p, rr = r, (r * r).sum()
        for _ in range(rounds):
            ap = laplace(p)
            alpha = rr / (p * ap).sum()
            x, r = x + alpha * p, r - alpha * ap
            new = (r * r).sum()
            p, rr = r + new / rr * p, new
        return x, rr

    return pressure_solver, (source.normal(high, wide),)


@SCIENCE.add("coarse_and_fine", (2048, 2048), (16, 16))
def _coarse_and_fine(source: Source, high: int, wide: int):
    """A cycle over three grids: smoothing, restriction, interpolation back."""

    def rest(u: Tensor, f: Tensor) -> Tensor:
        p = F.pad(u, (1, 1, 1, 1), mode="replicate")
        return f - (4 * u - (p[:, 2:, 1:-1] + p[:, :-2, 1:-1] + p[:, 1:-1, 2:] + p[:, 1:-1, :-2]))

    def cycle(u: Tensor, f: Tensor, level: int) -> Tensor:
        for _ in range(2):
            u = u + 0.2 * rest(u, f)
        if level:
            low = F.avg_pool2d(rest(u, f), 2) * 4
            fix = cycle(torch.zeros_like(low), low, level - 1)
            u = u + F.interpolate(fix[None], scale_factor=2, mode="bilinear")[0]
            u = u + 0.2 * rest(u, f)
        return u

    def coarse_and_fine(f: Tensor) -> Tensor:
        return cycle(torch.zeros_like(f), f, 2)

    return coarse_and_fine, (source.normal(1, high, wide),)


@SCIENCE.add("shallow_water", (4096, 2048), (10, 12))
def _shallow_water(source: Source, high: int, wide: int):
    """Heights and momenta by Rusanov's fluxes in both directions."""

    def flux(h: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return u, u * u / h + 4.905 * h * h, u * v / h

    def moved(h: Tensor, u: Tensor, v: Tensor, dim: int) -> list[Tensor]:
        here, there = (h, u, v), tuple(t.roll(-1, dim) for t in (h, u, v))
        speed = torch.maximum(*((s[1] / s[0]).abs() + (9.81 * s[0]).sqrt() for s in (here, there)))
        found = []
        for a, b, fa, fb in zip(here, there, flux(*here), flux(*there), strict=True):
            f = 0.5 * (fa + fb) - 0.5 * speed * (b - a)
            found.append(a - 0.01 * (f - f.roll(1, dim)))
        return found

    def shallow_water(h: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        h, u, v = moved(h, u, v, 0)
        h, v, u = moved(h, v, u, 1)
        return h, u, v

    return shallow_water, (
        source.uniform(0.8, 1.2, high, wide), *(source.uniform(-0.1, 0.1, high, wide) for _ in range(2)),
    )  # fmt: skip


@SCIENCE.add("separating_phases", (16, 512, 512), (2, 8, 8), slack=16.0)
def _separating_phases(source: Source, batch: int, high: int, wide: int):
    """A step of Cahn and Hilliard's equation in Fourier space, halfway implicit, and its energy."""

    def separating_phases(c: Tensor) -> tuple[Tensor, Tensor]:
        y = torch.fft.fftfreq(high, 1 / high, device=c.device, dtype=c.dtype)[:, None]
        x = torch.fft.rfftfreq(wide, 1 / wide, device=c.device, dtype=c.dtype)
        k = (y * y + x * x) / 100
        new = torch.fft.rfft2(c) - 0.01 * k * torch.fft.rfft2(c**3 - c)
        found = torch.fft.irfft2(new / (1 + 0.01 * 0.5 * k * k), s=(high, wide))
        slope = (found.roll(-1, 1) - found).square() + (found.roll(-1, 2) - found).square()
        return found, ((found**2 - 1).square() / 4 + slope / 4).mean((1, 2))

    return separating_phases, (source.uniform(-1.0, 1.0, batch, high, wide),)


@SCIENCE.add("varying_volatility", (262144, 40), (16, 5), reduces=True, slack=16.0)
def _varying_volatility(source: Source, paths: int, steps: int):
    """Paths of Heston's model from given numbers, with a barrier, and what the option pays."""

    def varying_volatility(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        s, v = torch.zeros_like(a[0]), torch.full_like(a[0], 0.04)
        least = s
        for t in range(steps):
            root = (v.clamp(min=0) / steps).sqrt()
            s = s + (0.02 - 0.5 * v.clamp(min=0)) / steps + root * a[t]
            v = v + 1.5 * (0.04 - v) / steps + 0.3 * root * (-0.7 * a[t] + 0.714 * b[t])
            least = torch.minimum(least, s)
        pay = F.relu(s.exp() - 1) * torch.sigmoid(200 * (least + 0.2))
        return pay.mean(), pay.std()

    return varying_volatility, (source.normal(steps, paths), source.normal(steps, paths))


@SCIENCE.add("element_forces", (120000, 110000), (48, 24), slack=4.0)
def _element_forces(source: Source, nodes: int, elements: int):
    """Displacements of eight nodes through the stiffness of their element, added up at the nodes."""

    def element_forces(u: Tensor, stiffness: Tensor, density: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        local = u[place].flatten(1)
        force = local @ stiffness
        energy = 0.5 * (local * force).sum(1)
        scaled = (density**3)[:, None] * force
        return torch.zeros_like(u).index_add(0, place.flatten(), scaled.view(-1, 3)), density**2 * energy

    return element_forces, (
        source.normal(nodes, 3), source.normal(24, 24), source.uniform(0.1, 1.0, elements),
        source.integers(nodes, elements, 8),
    )  # fmt: skip


__all__ = ["SCIENCE"]
