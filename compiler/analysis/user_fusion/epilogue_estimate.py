"""What it costs to compute a reader where a user's kernel stores what it reads, beside running it alone.

The tile of a user's kernel is as it is, so an access of the reader's may be spread over memory there: of a
transposed copy, neighbouring lanes write elements of different rows.  Each such access moves whole sectors.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...cost.clock import microseconds
from ...cost.hardware import SECTOR, Hardware
from ...cost.slots import slots
from ...cost.work import Work
from ...index import Expr, const, offset
from ...ir.kernel import Access, Kernel
from ...ir.layout import TensorSpec
from ...ir.sizes import UNKNOWN, estimate
from ..user_kernel.coordinates import Coordinates
from .user_epilogues import EpilogueSite

#: Threads that access memory at once.
_THREADS = 32


def reader_microseconds(
    reader: Kernel,
    site: EpilogueSite,
    gone: Sequence[tuple[TensorSpec, Coordinates]],
    hints: Mapping[str, int],
    hardware: Hardware,
) -> tuple[float, float]:
    """Of the reader inside the user's kernel, and of the reader alone with what only it makes necessary.

    ``gone``: the tensors that are not stored any more, and where the user's kernel stored them.
    """

    def size(spec: TensorSpec) -> int:
        return estimate(spec.numel, hints) * spec.element_bytes

    accesses: dict[int, Access] = {a.argument: a for a in (*reader.loads, *reader.stores)}
    inside = alone = 0.0
    for argument, access in accesses.items():
        spec = reader.spec(argument)
        alone += size(spec)
        if access.op not in site.known:
            at = [c.subs(site.dims) for c in access.coords]
            inside += size(spec) * spread(at, spec, site.coordinates, hints)
    for spec, coordinates in gone:
        alone += size(spec) * spread(coordinates.at, spec, coordinates, hints)
    points = estimate(_product(reader.dims), hints)
    work = points * sum(slots(op.name) for op in reader.op_dims)
    fused = hardware.rates.streaming.fused
    inside_us, alone_us = (microseconds(Work(int(n), slots=work), hardware, fused) for n in (inside, alone))
    return inside_us, alone_us


def lone_microseconds(kernel: Kernel, hints: Mapping[str, int], hardware: Hardware) -> float:
    """Of a kernel by itself, beside its launch."""
    arguments = {a.argument for a in (*kernel.loads, *kernel.stores)}
    moved = sum(estimate(kernel.spec(n).numel, hints) * kernel.spec(n).element_bytes for n in arguments)
    work = estimate(_product(kernel.dims), hints) * sum(slots(op.name) for op in kernel.op_dims)
    return microseconds(Work(moved, slots=work), hardware, hardware.rates.streaming.fused)


def spread(at: Sequence[Expr], spec: TensorSpec, coordinates: Coordinates, hints: Mapping[str, int]) -> float:
    """How many times as many sectors a group of threads moves for the elements ``at`` as it would if they lay
    side by side; 1 if they do along some axis of the tile, as Triton spreads threads along that.
    """
    e = offset(at, spec.strides, const(0), coordinates.facts).subs(coordinates.places)
    axes = [axis for axis, extent in enumerate(coordinates.shape) if extent > 1]
    found = [1.0] if not axes else []
    for axis in axes:
        lanes = np.arange(min(_THREADS, coordinates.shape[axis]), dtype=np.int64)
        env: dict[str, object] = {name: hints.get(name, UNKNOWN) for name in e.symbols()}
        env |= {name: int(name[0] == "x") for name in e.symbols() if name.endswith("'")}  # it may divide
        places = (e.evaluate({**env, f"l{axis}'": lanes}) + 0 * lanes) * spec.element_bytes // SECTOR
        least = -(-len(lanes) * spec.element_bytes // SECTOR)
        found.append(max(1.0, len(np.unique(places)) / least))
    return min(found)


def _product(dims: Mapping[str, Expr]) -> Expr:
    total = const(1)
    for extent in dims.values():
        total = total * extent
    return total
