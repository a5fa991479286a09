"""Steps of simulations: stencils, particles, lattices, spectra, prices."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .workload import Workloads

PHYSICS = Workloads()


@PHYSICS.add("heat_by_roll", (4096, 4096), (16, 16))
def _heat_by_roll(source: Source, *shape: int):
    """Four steps of a stencil of five points on a torus."""

    def heat_by_roll(x: Tensor) -> Tensor:
        for _ in range(4):
            near = x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1)
            x = x + 0.1 * (near - 4 * x)
        return x

    return heat_by_roll, (source.normal(*shape),)


@PHYSICS.add("heat_by_padding", (4096, 4096), (16, 16))
def _heat_by_padding(source: Source, *shape: int):
    def heat_by_padding(x: Tensor) -> Tensor:
        for _ in range(2):
            p = F.pad(x, (1, 1, 1, 1))
            x = x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)
        return x

    return heat_by_padding, (source.normal(*shape),)


@PHYSICS.add("wave_3d", (256, 256, 256), (8, 8, 8))
def _wave_3d(source: Source, *shape: int):
    def wave_3d(now: Tensor, before: Tensor, speed: Tensor) -> Tensor:
        laplace = -6 * now
        for dim in range(3):
            laplace = laplace + now.roll(1, dim) + now.roll(-1, dim)
        return 2 * now - before + speed.square() * 0.1 * laplace

    return wave_3d, tuple(source.normal(*shape) for _ in range(3))


@PHYSICS.add("lattice_boltzmann", (1024, 1024), (8, 8))
def _lattice_boltzmann(source: Source, *shape: int):
    """A step of D2Q9: collide, then stream."""
    ways = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4

    def lattice_boltzmann(f: Tensor) -> Tensor:
        rho = f.sum(0)
        u = sum(f[i] * ways[i][0] for i in range(9)) / rho
        v = sum(f[i] * ways[i][1] for i in range(9)) / rho
        still = 1.5 * (u * u + v * v)
        moved = []
        for i, (x, y) in enumerate(ways):
            along = 3 * (x * u + y * v)
            wanted = weights[i] * rho * (1 + along + 0.5 * along * along - still)
            moved.append((f[i] + 0.6 * (wanted - f[i])).roll((x, y), (0, 1)))
        return torch.stack(moved)

    return lattice_boltzmann, (source.uniform(0.9, 1.1, 9, *shape),)


@PHYSICS.add("gravity", (8192,), (64,), slack=4.0)
def _gravity(source: Source, bodies: int):
    """Forces between all pairs, and a step."""

    def gravity(at: Tensor, speed: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
        apart = at[None] - at[:, None]
        near = (apart.square().sum(-1) + 0.01).rsqrt()
        pull = (apart * (near**3 * mass[None])[..., None]).sum(1)
        speed = speed + 0.001 * pull
        return at + 0.001 * speed, speed

    return gravity, (source.normal(bodies, 3), source.normal(bodies, 3), source.uniform(0.5, 1.5, bodies))


@PHYSICS.add("lennard_jones", (100000, 32), (64, 4), slack=4.0)
def _lennard_jones(source: Source, atoms: int, neighbours: int):
    """Energies and forces from lists of neighbours."""

    def lennard_jones(at: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        apart = at[:, None] - at[near]
        apart = apart - apart.round()
        inverse = 1 / (apart.square().sum(-1) + 0.05)
        sixth = inverse**3
        force = (48 * inverse * sixth * (sixth - 0.5))[..., None] * apart
        return (4 * sixth * (sixth - 1)).sum(1) / 2, force.sum(1)

    return lennard_jones, (source.uniform(0.0, 1.0, atoms, 3), source.integers(atoms, atoms, neighbours))


@PHYSICS.add("ising", (4096, 4096), (16, 16))
def _ising(source: Source, *shape: int):
    """Half a sweep: the white fields of a chessboard, with uniform numbers that are given."""

    def ising(spin: Tensor, drawn: Tensor) -> Tensor:
        around = spin.roll(1, 0) + spin.roll(-1, 0) + spin.roll(1, 1) + spin.roll(-1, 1)
        rows, columns = (torch.arange(n, device=spin.device) for n in spin.shape)
        white = (rows[:, None] + columns[None]) % 2 == 0
        flips = white & (drawn < torch.exp(-0.8 * spin * around))
        return torch.where(flips, -spin, spin)

    return ising, (source.normal(*shape).sign(), source.uniform(0.0, 1.0, *shape))


@PHYSICS.add("burgers", (8192, 4096), (8, 32))
def _burgers(source: Source, *shape: int):
    """An upwind step for many lines at once."""

    def burgers(u: Tensor) -> Tensor:
        left, right = u - u.roll(1, -1), u.roll(-1, -1) - u
        slope = torch.where(u > 0, left, right)
        return u - 0.1 * u * slope + 0.01 * (right - left)

    return burgers, (source.normal(*shape),)


@PHYSICS.add("fourier_operator", (16, 32, 256, 256), (2, 4, 16, 16), slack=16.0)
def _fourier_operator(source: Source, batch: int, channels: int, high: int, wide: int):
    """A layer of a Fourier neural operator: low frequencies times weights."""
    kept = min(16, high // 4)

    def fourier_operator(x: Tensor, real: Tensor, imaginary: Tensor) -> Tensor:
        spectrum = torch.fft.rfft2(x)[:, :, :kept, :kept]
        mixed = torch.einsum("bihw,iohw->bohw", spectrum, torch.complex(real, imaginary))
        return F.gelu(torch.fft.irfft2(mixed, s=(high, wide)) + x)

    weights = (source.normal(channels, channels, kept, kept) / channels for _ in range(2))
    return fourier_operator, (source.normal(batch, channels, high, wide), *weights)


@PHYSICS.add("kalman", (200000, 4), (64, 4), slack=16.0)
def _kalman(source: Source, tracks: int, states: int):
    """Predict and update many small filters that see one number each."""

    def kalman(x: Tensor, p: Tensor, move: Tensor, noise: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        x = x @ move.t()
        p = move @ p @ move.t() + noise
        gain = p[:, :, 0] / (p[:, 0, 0] + 0.1)[:, None]
        x = x + gain * (seen - x[:, 0])[:, None]
        return x, p - gain[:, :, None] * p[:, None, 0]

    one = torch.eye(states, device=source.device, dtype=source.dtype)
    args = (
        source.normal(tracks, states),
        one.repeat(tracks, 1, 1),
        one + 0.1 * source.normal(states, states),
    )
    return kalman, (*args, 0.01 * one, source.normal(tracks))


@PHYSICS.add("black_scholes", (16000000,), (512,), slack=16.0)
def _black_scholes(source: Source, options: int):
    def normal(x: Tensor) -> Tensor:
        return 0.5 * (1 + torch.erf(x * 0.7071067811865476))

    def black_scholes(price: Tensor, strike: Tensor, years: Tensor) -> tuple[Tensor, Tensor]:
        root = years.sqrt() * 0.2
        first = (torch.log(price / strike) + 0.07 * years) / root
        second = first - root
        later = strike * torch.exp(-0.05 * years)
        call = price * normal(first) - later * normal(second)
        return call, call + later - price

    prices = (source.uniform(50.0, 150.0, options) for _ in range(2))
    return black_scholes, (*prices, source.uniform(0.1, 2.0, options))


@PHYSICS.add("paths_of_prices", (65536, 252), (32, 16), reduces=True, slack=16.0)
def _paths_of_prices(source: Source, paths: int, days: int):
    """The payoff of an Asian option from normal numbers that are given."""

    def paths_of_prices(drawn: Tensor) -> Tensor:
        prices = 100 * torch.exp((drawn * 0.0126 - 0.00002).cumsum(-1))
        return torch.relu(prices.mean(-1) - 100).mean()

    return paths_of_prices, (source.normal(paths, days),)


__all__ = ["PHYSICS"]
