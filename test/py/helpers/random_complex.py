"""Random programs of complex ops, for comparing compiled programs with eager: shared by tests."""

import random
from collections.abc import Callable

import torch
from torch import Tensor

#: Ops of two complex [n, m] tensors that give another one, each bounded where its operands are.
OPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: torch.add(a, b, alpha=0.5),
    "sub": lambda a, b: a - b * 1j,
    "div": lambda a, b: a / (b.abs() + 1 + 1j),
    "conj": lambda a, b: a.conj(),
    "conj of conj": lambda a, b: a.conj() * b.conj(),
    "real": lambda a, b: a.real + b,
    "imag": lambda a, b: b * a.imag,
    "made": lambda a, b: torch.complex(a.imag, b.conj().imag),
    "polar": lambda a, b: torch.polar(a.abs(), b.real),
    "turned": lambda a, b: a.t() if a.shape[0] == a.shape[1] else a.flip(0),
    "as real": lambda a, b: torch.view_as_complex(torch.view_as_real(a * 1).flip(-1).contiguous()),
    "halves": lambda a, b: torch.cat([a[:1], b[1:]]),
    "choice": lambda a, b: torch.where(a.real > b.imag, a, b.conj()),
    "masked": lambda a, b: a.masked_fill(b.real > 0, 1 - 1j),
    "sum": lambda a, b: a - b.mean(1, keepdim=True),
    "total": lambda a, b: a + b.sum() * 0.1,
    "sgn": lambda a, b: a.sgn() + b,
    "sin": lambda a, b: a.sgn().sin() - b,
    "exp": lambda a, b: a.sgn().exp() * b,
    "written": lambda a, b: torch.view_as_complex(torch.view_as_real(a.clone()).mul_(b.real.unsqueeze(-1))),
    "in place": lambda a, b: a.clone().mul_(b).sub_(1j),
    "tanh": lambda a, b: a.tanh() + b,
    "power": lambda a, b: (a.sgn() + 2) ** (b.sgn() * 2),
    "square": lambda a, b: a.sgn() ** 2.5 + b**2 * 0.1,
    "between": lambda a, b: torch.lerp(a, b, 0.3),
    "rows": lambda a, b: a.sgn() * b.sgn().prod(1, keepdim=True),
    "norm": lambda a, b: a / (b.norm(dim=0) + 1),
    "bytes": lambda a, b: (a * 1).contiguous().view(a.real.dtype).view(a.dtype) + b,
    "padded": lambda a, b: torch.nn.functional.pad(a, (1, -1)) + b,
    "gate": lambda a, b: a.sgn().sigmoid() * b,
    "fft": lambda a, b: torch.fft.fft(a, norm="ortho") + b,
    "product": lambda a, b: (a @ b.mH) @ b * 0.1,
    "read": lambda a, b: a[torch.arange(a.shape[0] - 1, -1, -1)] + b,
    "real view": lambda a, b: torch.view_as_complex(torch.stack([a.real, b.real], -1)),
}  # fmt: skip


def program(seed: int, steps: int = 6) -> Callable[[Tensor, Tensor], tuple[Tensor, ...]]:
    """A function of two complex [n, m] tensors that gives its last three values and a real one."""
    draw = random.Random(seed)
    chosen = [(draw.choice(list(OPS)), draw.randrange(i + 2), draw.randrange(i + 2)) for i in range(steps)]

    def run(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        values = [a, b]
        for name, first, second in chosen:
            values.append(OPS[name](values[first], values[second]))
        return (*(v * 1 for v in values[-3:]), values[-1].abs() + values[-2].real)

    run.__doc__ = str(chosen)
    return run
