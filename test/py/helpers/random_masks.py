"""Attention under masks that are built in many ways: shared by tests, no test itself.

``MaskProgram.drawn(seed)`` draws how a mask is made, what writes to it through which view, how it reaches the
scores, and where keys and values hold NaN or inf.  ``differences`` compares the compiled program with eager,
in float64: results, gradients and what is left in the arguments.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir

B, H, T, D = 2, 2, 5, 8
INF, NAN = math.inf, math.nan

#: Parts of a mask [T, S].
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda m: m,
    "row": lambda m: m[1],
    "rows": lambda m: m[1:3],
    "column": lambda m: m[:, 2],
    "columns": lambda m: m[:, :2],
    "diagonal": lambda m: m.diagonal(),
    "t": lambda m: m.t()[1],
    "mT": lambda m: m.mT[:2],
    "view": lambda m: m.view(-1)[3:7],
    "unbind": lambda m: m.unbind(0)[2],
    "split": lambda m: m.split(2)[1],
    "chunk": lambda m: m.chunk(2, 1)[1],
    "select": lambda m: m.select(1, 1),
    "narrow": lambda m: m.narrow(0, 1, 2),
    "detach": lambda m: m.detach()[:2],
    "data": lambda m: m.data[:, 1:],
    "unsqueeze": lambda m: m.unsqueeze(0)[:, 1],
    "expanded": lambda m: m[None].expand(1, *m.shape)[0, 1:],
    "reshape": lambda m: m.reshape(-1)[:3],
    "as_strided": lambda m: m.as_strided((2,), (3,), 1),
    "dropout": lambda m: m.contiguous()[0],
}

Writer = Callable[[Tensor, Any], object]


def _added(m: Tensor, value: Any) -> None:
    if m.dtype == torch.bool:
        m ^= True
    else:
        m += value


def _by_index(m: Tensor, value: Any) -> None:
    m[0] = value


def _by_foreach(m: Tensor, value: Any) -> None:
    torch._foreach_copy_([m], [torch.full_like(m, value)])


@torch.library.custom_op("fuse_test_masks::fill", mutates_args={"m"})
def _fill(m: Tensor, value: float) -> None:
    m.fill_(value)


def _by_numpy(m: Tensor, value: Any) -> None:
    m.detach().numpy()[...] = value


def _by_where(m: Tensor, value: Any) -> None:
    if m.is_contiguous():
        torch.where(torch.ones_like(m, dtype=torch.bool), torch.full_like(m, value), m, out=m)
    else:
        m.fill_(value)


WRITERS: dict[str, Writer] = {
    "custom": lambda m, value: _fill(m, float(value)),
    "numpy": _by_numpy,
    "where": _by_where,
    "index_fill_": lambda m, value: m.index_fill_(0, torch.zeros(1, dtype=torch.long), value),
    "fill_": lambda m, value: m.fill_(value),
    "zero_": lambda m, value: m.zero_(),
    "function": lambda m, value: torch.fill_(m, value),
    "setitem": lambda m, value: m.__setitem__(..., value),
    "index": _by_index,
    "copy_": lambda m, value: m.copy_(torch.full_like(m, value)),
    "masked_fill_": lambda m, value: m.masked_fill_(torch.ones_like(m, dtype=torch.bool), value),
    "foreach": _by_foreach,
    "iadd": _added,
    "out": lambda m, value: (
        torch.full(m.shape, value, dtype=m.dtype, out=m) if m.is_contiguous() else m.fill_(value)
    ),
}


def _ramps(q: Tensor, s: int) -> tuple[Tensor, Tensor]:
    return torch.arange(q.shape[-2])[:, None], torch.arange(s)[None, :]


#: Which keys a row sees, [T, S], from the query, the number of keys and an argument (lengths of a batch).
SEEN: dict[str, Callable[[Tensor, int, Tensor], Tensor]] = {
    "causal": lambda q, s, a: _ramps(q, s)[1] <= _ramps(q, s)[0],
    "tril": lambda q, s, a: torch.ones(q.shape[-2], s, dtype=torch.bool).tril(),
    "strictly": lambda q, s, a: _ramps(q, s)[1] < _ramps(q, s)[0],
    "window": lambda q, s, a: (_ramps(q, s)[0] - _ramps(q, s)[1]).abs() < 2,
    "open": lambda q, s, a: torch.ones(q.shape[-2], s, dtype=torch.bool),
    "closed": lambda q, s, a: torch.zeros(q.shape[-2], s, dtype=torch.bool),
    "first": lambda q, s, a: (torch.arange(s) < 3).expand(q.shape[-2], s).clone(),
    "length": lambda q, s, a: (torch.arange(s) < a[0]).expand(q.shape[-2], s).clone(),
    "data": lambda q, s, a: (torch.arange(q.shape[-2] * s).view(-1, s) * a[1]) % 3 < 1,
    "data_causal": lambda q, s, a: _ramps(q, s)[1] <= _ramps(q, s)[0] + a[0] * 0,
}

#: A mask of the keys alone, [B, 1, 1, S] or [S].
SEEN_KEYS: dict[str, Callable[[int, Tensor], Tensor]] = {
    "padding": lambda s, a: torch.arange(s)[None, None, None, :] < a[:, None, None, None],
    "one_length": lambda s, a: torch.arange(s) < a[0],
    "constant": lambda s, a: torch.arange(s) < 3,
    "nothing": lambda s, a: torch.arange(s) < a[0] * 0,
}

FILLERS = ("inf", "lowest", "-1e9", "-1e4", "1.5")


def _filler(name: str, dtype: torch.dtype) -> float:
    return {"inf": -INF, "lowest": torch.finfo(dtype).min}.get(name) or float(name)


@dataclass(frozen=True)
class MaskProgram:
    """What was drawn.

    seen: by name.  keys: how many there are.  writes: a view, a writer, and whether what is written shows a
    key.  form: how the mask reaches the scores.  odd: operand, place and number that is not finite.
    """

    seen: str
    keys: int
    filler: str
    boolean: bool
    writes: tuple[tuple[str, str, bool], ...]
    form: str
    odd: tuple[tuple[str, int, float], ...]
    gradient: bool

    @staticmethod
    def drawn(seed: int) -> "MaskProgram":
        draw = random.Random(seed)
        form = draw.choice(FORMS)
        boolean = form in BOOLEAN or (form == "sdpa" and draw.random() < 0.5)
        one_row = draw.random() < 0.25 and form not in ("onto_mask", "returned")
        seen = draw.choice(list(SEEN_KEYS if one_row else SEEN))
        writes = tuple(
            (draw.choice(list(VIEWS)), draw.choice(list(WRITERS)), draw.random() < 0.5)
            for _ in range(0 if one_row else draw.choice((0, 1, 1, 2)))
        )
        odd: tuple[tuple[str, int, float], ...] = ()
        if form != "sdpa" and draw.random() < 0.5:
            odd = tuple(
                (draw.choice("kkkqv"), draw.choice((0, 2, 4)), draw.choice((NAN, INF, -INF)))
                for _ in range(draw.choice((1, 1, 2)))
            )
        return MaskProgram(
            seen, T if draw.random() < 0.7 else T + 2, draw.choice(FILLERS), boolean,
            writes, form, odd, (one_row or not odd) and draw.random() < 0.4,
        )  # fmt: skip

    def arguments(self) -> list[Tensor]:
        source = torch.Generator().manual_seed(len(self.seen) + self.keys)
        q, k, v = (torch.randn(B, H, n, D, generator=source) for n in (T, self.keys, self.keys))
        for name, place, value in self.odd:
            {"q": q, "k": k, "v": v}[name][..., place, :2] = value
        return [q, k, v, torch.tensor([3, 1])]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        mask, fill = self._mask(q, lengths)
        if self.form == "sdpa":
            return (F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3),)
        return _spelled(self.form, q, k, v, mask, fill)

    def _mask(self, q: Tensor, lengths: Tensor) -> tuple[Tensor, float]:
        """The mask and what it hides keys with."""
        if self.seen in SEEN_KEYS:
            seen = SEEN_KEYS[self.seen](self.keys, lengths)
        else:
            seen = SEEN[self.seen](q, self.keys, lengths)
        fill = _filler(self.filler, q.dtype)
        mask = seen if self.boolean else torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, fill)
        for view, writer, shown in self.writes:
            WRITERS[writer](VIEWS[view](mask), shown if self.boolean else 0.0 if shown else fill)
        return mask, fill

    def undefined(self) -> Tensor:
        """[B, H, T, 1]: rows that see keys with scores of -inf only, where a finite number is filled in.

        Eager gives the mean of the values that must not be seen.  That is kept where keys are infinite and
        hidden from all queries alike.
        """
        q, k, _, lengths = self.arguments()
        if self.form not in BOOLEAN or self.filler == "inf":
            return torch.zeros(B, H, T, 1, dtype=torch.bool)
        seen, scores = self._mask(q, lengths)[0], q.double() @ k.double().mT
        found = seen.any(-1, True) & (~seen | (scores == -INF)).all(-1, True)
        return found & (q.isinf().any(-1, True) if self.seen in SEEN_KEYS else True)


FORMS = (
    "sdpa",
    "added",
    "added_left",
    "in_place",
    "filled",
    "filled_in_place",
    "where",
    "onto_mask",
    "returned",
)
BOOLEAN = ("filled", "filled_in_place", "where")


def _spelled(form: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, fill: float) -> tuple[Tensor, ...]:
    scores = (q @ k.transpose(-2, -1)) * 0.3
    left: tuple[Tensor, ...] = ()
    if form == "added":
        scores = scores + mask
    elif form == "added_left":
        scores = mask + scores
    elif form == "in_place":
        scores += mask
    elif form == "filled":
        scores = scores.masked_fill(~mask, fill)
    elif form == "filled_in_place":
        scores.masked_fill_(~mask, fill)
    elif form == "where":
        scores = torch.where(mask, scores, fill)
    else:
        whole = mask.expand(scores.shape).clone()
        whole += scores
        scores, left = whole, (whole,) if form == "returned" else ()
    return (scores.softmax(-1) @ v, *left)


def _run(program: MaskProgram, call: Callable[..., Any], dtype: torch.dtype) -> list[Tensor]:
    given = [a.to(dtype) if a.is_floating_point() else a for a in program.arguments()]
    if program.gradient:
        given = [a.requires_grad_() if a.is_floating_point() else a for a in given]
    results = list(call(*given))
    if program.gradient:
        results += torch.autograd.grad(results[0].square().sum(), given[:3])
    return [r.detach() for r in (*results, *given)]


def difference(program: MaskProgram, backend: Any = fuse_mlir.backend) -> str | None:
    """How the compiled program differs from eager, or None; None too where eager refuses the program, or
    where ``aot_eager`` differs, which is torch's own.
    """
    try:
        want, eager = (_run(program, program.__call__, dtype) for dtype in (torch.float64, torch.float32))
    except (RuntimeError, IndexError):
        return None  # a mask of a wrong dtype, or written after autograd saved it
    told = _compared(program, backend, want, eager)
    return told if told is None or _compared(program, "aot_eager", want, eager) is None else None


def _compared(program: MaskProgram, backend: Any, want: list[Tensor], eager: list[Tensor]) -> str | None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda *args: program(*args), backend=backend, fullgraph=True)
    try:
        found = _run(program, compiled, torch.float32)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    undefined = program.undefined()
    for number, (a, b, e) in enumerate(zip(found, want, eager, strict=True)):
        if number == 0:
            a, b, e = (x.masked_fill(undefined, 0.0) for x in (a, b, e))
        elif (
            program.gradient and program.odd and a.is_floating_point()
        ):  # sums of infinite numbers, in any order
            a, b, e = (x.masked_fill(x.isinf() | undefined.any(), NAN) for x in (a, b, e))
        if not any(torch.allclose(a.double(), w.double(), 1e-4, 1e-5, equal_nan=True) for w in (b, e)):
            return f"value {number}: {a} for {b}"
    return None


__all__ = ["MaskProgram", "difference"]
