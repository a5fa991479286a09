"""Calls that are gathered into common launches: the bytes alive, and when two may share a place."""

import pytest

from fuse_mlir.compiler.analysis.program.dependences import Dependences
from fuse_mlir.compiler.analysis.program.launch_order import LaunchOrder
from fuse_mlir.compiler.analysis.program.lifetimes import Lifetime, LiveBytes
from fuse_mlir.compiler.analysis.program.program_order import FLOATING
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

KIND = "tensor<64xf32>"  # 256 bytes


def ordered(calls: dict[str, tuple[str, ...]], *returned: str, given: bool = False) -> LaunchOrder:
    """Of a program of two arguments, ``x`` and ``y``, and of calls that each read values and fill 256 bytes.
    given: the program may free its arguments.
    """
    lines = []
    for name, operands in calls.items():
        lines.append(f'%e_{name} = "fuse.empty"() {{syms = []}} : () -> {KIND}')
        types = ", ".join([KIND] * (len(operands) + 1))
        values = ", ".join(f"%{o}" for o in (*operands, f"e_{name}"))
        lines.append(f"%{name} = call @read{len(operands)}({values}) : ({types}) -> {KIND}")
    lines.append(f"return {', '.join(f'%{r}' for r in returned)} : {', '.join([KIND] * len(returned))}")
    declared = [
        f"func.func private @read{n}({', '.join([KIND] * (n + 1))}) -> {KIND} attributes {{"
        f'fuse.launch = @tt, fuse.grid = ["1"], fuse.params = [], fuse.ties = array<i64: {n}>}}'
        for n in {len(operands) for operands in calls.values()}
    ]
    attributes = " attributes {fuse.given}" if given else ""
    results = f"({', '.join([KIND] * len(returned))})"
    body = "\n  ".join(lines)
    text = f"func.func @main(%x: {KIND}, %y: {KIND}) -> {results}{attributes} {{\n  {body}\n}}\n"
    _alive.append(ir.Module.parse(text + "\n".join(declared)))
    return LaunchOrder(Dependences.of(_alive[-1]), {})


#: The modules of a test: without a reference to its module an operation is gone.
_alive: list[ir.Module] = []


@pytest.fixture(autouse=True)
def context():
    with make_context(), ir.Location.unknown():
        yield
        _alive.clear()


def places(order: LaunchOrder) -> list[int]:
    """The nodes of the calls."""
    return [n.index for n in order.deps.nodes if n.kind not in FLOATING and n.kind != "func.return"]


@pytest.mark.parametrize(("given", "peak"), [(False, 4 * 256), (True, 2 * 256)])
def test_a_storage_is_alive_from_its_first_to_its_last_use(given: bool, peak: int) -> None:
    """A result of a chain and the one before it, beside ``x`` and ``y``, which the caller keeps unless the
    program is given them.
    """
    order = ordered({"a": ("x",), "b": ("a",), "c": ("b",)}, "c", given=given)
    assert order.peak == peak and order._live[0] == (256 if given else 512)


def is_as_lifetimes_say(order: LaunchOrder) -> bool:
    """Whether the bytes alive are those of the storages, each counted once."""
    lives = [Lifetime(max(0, order._first[r]), order._last[r], 256) for r in order._bytes]
    return order._live == LiveBytes(len(order.deps.nodes), lives).at


#: Calls, and which joins which.
JOINS = {
    "a call that reads one value twice rises": ({"a": ("x",), "b": ("y",), "c": ("y", "y")}, "a", "c"),
    "a place whose calls read one value last sinks": (
        {"a": ("x",), "b": ("a", "a"), "c": ("x",), "d": ("c",)}, "b", "d",
    ),
    "what was last read in the place, which sinks": (
        {"a": ("x",), "b": ("a",), "c": ("x",), "d": ("c",)}, "b", "d",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINS)
def test_each_storage_counts_once_while_calls_join(name: str) -> None:
    """The bytes alive are those of the storages, each from the first to the last place that touches it."""
    calls, slot, joining = JOINS[name]
    order = ordered(calls, *calls)
    nodes = dict(zip(calls, places(order), strict=True))
    for call, node in nodes.items():
        if call != joining:
            order.place(node)
            continue
        assert order.why_not(node, nodes[slot], slack=512) is None
        place = order.join(node, nodes[slot], slack=512)
        assert order.members[place] == [nodes[slot], node]
    assert is_as_lifetimes_say(order)


def test_what_another_call_read_last_lives_to_where_the_place_sinks() -> None:
    """``b`` then reads ``a`` behind ``c``, whether ``c`` has a place of its own or shares that of ``b``."""
    for shares in (False, True):
        order = ordered({"a": ("x",), "b": ("a",), "c": ("a",), "d": ("x",), "e": ("d",)}, "b", "c", "e")
        a, b, c, d, e = places(order)
        assert order.peak == 6 * 256  # x, y, b, c, d and e
        for node in (a, b):
            order.place(node)
        if shares:
            assert order.join(c, b, slack=256) == b
        else:
            order.place(c)
        order.place(d)
        assert order._live[e] == 6 * 256 and order.why_not(e, b) == "peak-memory"
        assert order.join(e, b, slack=256) == e
        assert order._live[e] == 7 * 256 and is_as_lifetimes_say(order)


def test_why_two_do_not_share_a_launch() -> None:
    order = ordered({"a": ("x",), "b": ("a",), "c": ("b",)}, "c")
    a, b, c = places(order)
    order.place(a)
    assert order.why_not(b, a) == "dependence"
    order.place(b)
    assert order.why_not(c, a) == order.why_not(c, b) == "dependence"
