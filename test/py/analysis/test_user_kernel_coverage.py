"""Which elements users' kernels store, by coordinates, and whether these are all: beside what they do."""

import collections
import itertools
import math
from unittest import mock

import pytest
from torch import Tensor
from user_kernel_launches import parsed
from user_kernel_models import LAUNCHES
from user_kernel_watching import elements_of, function, watched

from fuse_mlir.compiler.analysis.user_kernel.coordinates import Coordinates, KernelSpace, coordinates_of
from fuse_mlir.compiler.analysis.user_kernel.coverage import Coverage, Store, coverage
from fuse_mlir.compiler.analysis.user_kernel.integers import Loop
from fuse_mlir.compiler.analysis.user_kernel.maps import PointerAccess, accesses
from fuse_mlir.compiler.index import Facts, const, parse, sym
from fuse_mlir.compiler.ir.layout import TensorSpec

#: Kernels of the corpus that are known to store each element of their results once.
EACH_ONCE = {
    "add_one", "arg_max", "as_bits", "causal_attention", "cumulative_sums", "dropout", "gathered", "iota",
    "layer_norm", "matmul", "persistent", "rms_norm", "row_sums", "softmax", "swiglu", "transposed",
}  # fmt: skip


def space_of(given, grid) -> KernelSpace:
    names = {f"a{n}": const(value) for n, value in enumerate(given) if isinstance(value, int)}
    extents = tuple(const(extent) for extent in grid)
    return KernelSpace(names, extents, Facts.of(extents={f"p{n}'": e for n, e in enumerate(extents)}))


def spec_of(tensor: Tensor) -> TensorSpec:
    return TensorSpec.contiguous(tuple(const(n) for n in tensor.shape), "f32")


def points(coordinates, grid):
    """The symbols of each lane that stores, of each program; loops are at their first turn."""
    names = {s for e in (*coordinates.places.values(),) for s in e.symbols()}
    if any(name[0] in "x" for name in names):
        return
    ranges = [range(extent) for extent in (*grid, *coordinates.shape)]
    for numbers in itertools.product(*ranges):
        env = {f"p{n}'": number for n, number in enumerate(numbers[:3])}
        env |= {f"g{n}'": extent for n, extent in enumerate(grid)}
        env |= {f"l{n}'": number for n, number in enumerate(numbers[3:])}
        env |= {name: 0 for name in names if name[0] == "t"}
        if all(c.holds(env) for c in coordinates.mask if not any("t" in s for s in c.left.symbols())):
            yield env


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch.name)
def test_coordinates_and_coverage(launch):
    ttir, module = parsed(launch)
    known = accesses(function(module))
    arguments = launch.arguments()
    given = [arguments[name] for name in ttir.arguments]
    space = space_of(given, launch.grid)
    for number, tensor in enumerate(given):
        mine = [a for a in known.by_op.values() if a.arguments == (number,) and a.kind != "read"]
        if not mine or not isinstance(tensor, Tensor) or any(a.kind == "atomic" for a in mine):
            continue
        found = [coordinates_of(a, spec_of(tensor), space) for a in mine]
        for access, coordinates in zip(mine, found, strict=True):
            if coordinates is not None and math.prod((*launch.grid, *access.shape)) < 5000:
                require_offsets(access, coordinates, spec_of(tensor), space, launch.grid)
        if None in found:
            continue
        claimed = coverage([Store(*pair) for pair in zip(mine, found, strict=True)], space, known.integers)
        require_coverage(launch, number, claimed, mine, given)
        if claimed.complete:
            touched, _ = watched(launch, ttir)
            assert touched[number, "write"] == set(range(tensor.numel()))


def require_offsets(access, coordinates, spec, space, grid):
    """The coordinates say which element the offset is."""
    offset = space.renamed(access.offset)
    for env in points(coordinates, grid):
        places = {name: e.evaluate(env) for name, e in coordinates.places.items()}
        assert all(0 <= places[name] < e.constant for name, e in coordinates.extents.items())
        at = [e.evaluate(places) for e in coordinates.at]
        assert all(0 <= i < size.constant for i, size in zip(at, spec.sizes, strict=True))
        assert sum(i * s.constant for i, s in zip(at, spec.strides, strict=True)) == offset.evaluate(env)


def require_coverage(launch, number, found, mine, given):
    """What is claimed is so; what is so of the kernels of the table is claimed."""
    numbers = {f"a{n}": value for n, value in enumerate(given) if isinstance(value, int)}
    if found.once and not any(s[0] == "x" for a in mine for s in a.offset.symbols()):
        counts = collections.Counter(e for a in mine for e in elements_of(a, numbers, launch.grid))
        assert max(counts.values(), default=0) <= 1
    if launch.name in EACH_ONCE:
        assert found == Coverage(complete=True, once=True), f"argument {number}"


def covered(grid, extents, places, shape=(16,), loops=(), guarded=False):
    """What stores cover of which each lane has ``places``; ``grid`` and ``extents`` as text."""
    names = [f"c{n}'" for n, _ in enumerate(places)]
    parts = [parse(place) for place in places]
    facts = Facts.of(extents={f"p{n}'": e for n, e in enumerate(grid)})
    known = dict(zip(names, map(parse, extents), strict=True))
    access = PointerAccess("tt.store", "write", (0,), const(0), shape, (), loops, guarded)
    space = KernelSpace({}, tuple(map(parse, grid)), facts)
    at = tuple(map(sym, names))
    facts = facts.with_extents({f"l{n}'": e for n, e in enumerate(shape)})
    coordinates = Coordinates(at, dict(zip(names, parts, strict=True)), known, (), shape, facts)
    found = coverage([Store(access, coordinates)], space, mock.Mock(value_of=lambda name: None))
    return found.complete, found.once


LOOP = Loop("t0", sym("p0"), const(3), const(2))


@pytest.mark.parametrize(
    ("expected", "stores"),
    [
        ((True, True), (("4", "1", "1"), ("64",), ("p0'*16 + l0'",))),
        ((False, True), (("3", "1", "1"), ("64",), ("p0'*16 + l0'",))),
        ((True, False), (("4", "2", "1"), ("64",), ("p0'*16 + l0'",))),
        ((False, False), (("4", "1", "1"), ("64",), ("p0'*8 + l0'",))),
        ((False, False), (("4", "1", "1"), ("64",), ("l0'*2 + p0'*32",))),
        ((True, True), (("2", "1", "1"), ("48",), ("(p0' + t0'*2)*16 + l0'",), (16,), (LOOP,))),
        ((False, True), (("2", "1", "1"), ("64",), ("(p0' + t0'*2)*16 + l0'",), (16,), (LOOP,))),
        ((False, False), (("4", "1", "1"), ("64",), ("p0'*16 + l0'",), (16,), (), True)),
        ((True, True), (("(s0 + 15) floordiv 16", "1", "1"), ("s0",), ("p0'*16 + l0'",))),
        ((True, False), (("(s0 + 15) floordiv 16", "s1", "1"), ("s0",), ("p0'*16 + l0'",))),
        ((False, False), (("s0 floordiv 16", "1", "1"), ("s0",), ("p0'*16 + l0'",))),
        ((True, True), (("s0", "1", "1"), ("s0", "10"), ("p0'", "l0'"))),
        ((False, False), (("s0", "1", "1"), ("s0", "20"), ("p0'", "l0'"))),
        ((False, False), (("s0", "1", "1"), ("s0", "s0", "10"), ("p0'", "p0'", "l0'"))),
    ],
)
def test_what_is_proven(expected, stores):
    assert covered(*stores) == expected
