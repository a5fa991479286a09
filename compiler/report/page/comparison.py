"""What differs between two reports, as the page that compares them has it.

Graphs belong together by name and order: the second forward graph with the second one; those that are left,
by order alone.  Launches do by name and lines of the program, those that are left by name alone; files are
compared without their folders, as two versions of a program lie in two.  What is left then was added or
removed, and its FX nodes say what became of it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

Graph = Mapping[str, Any]


def comparison(before: Sequence[Graph], after: Sequence[Graph]) -> list[dict[str, Any]]:
    """One entry for each pair of graphs, and for each that the other report lacks.

    before, after: sums of a graph (``totals``), None where there is none.  launches: those that differ, see
    ``_launches``.  same: how many do not.  remarks: texts with "added" or "gone".
    """
    by_name, by_order = (lambda graph: graph["name"]), (lambda graph: None)
    return [_graphs(a, b) for a, b in _paired(before, after, by_name, by_order)]


def totals(graph: Graph) -> dict[str, float]:
    """us: microseconds of all launches.  bytes: moved by them.  peak: bytes allocated at most.  seconds: of
    compiling.
    """
    launches = graph["launches"]
    return {
        "launches": len(launches),
        "us": sum(launch["us"] or 0 for launch in launches),
        "bytes": sum(launch["bytes"] or 0 for launch in launches),
        "peak": max((launch["held"] for launch in launches), default=0),
        "seconds": graph["timing"]["seconds"],
    }


def _graphs(a: Graph | None, b: Graph | None) -> dict[str, Any]:
    given = a if a is not None else b
    assert given is not None, "a pair has one of them"
    launches, same = _launches(a, b)
    return {
        "name": given["name"],
        "before": None if a is None else totals(a),
        "after": None if b is None else totals(b),
        "launches": launches,
        "same": same,
        "remarks": [*_remarks(a, b)],
    }


def _launches(a: Graph | None, b: Graph | None) -> tuple[list[dict[str, Any]], int]:
    """The launches that differ, and how many do not.

    change: "added", "removed", or "changed" in ``what``: time, bytes, lines, IR.  us, bytes, ir: before and
    after, None where there is no launch.  others: launches of the other report that compute its nodes.
    """
    found, same = [], 0
    keys = (lambda launch: (launch["name"], _places(launch))), (lambda launch: launch["name"])
    homes = {"added": _by_node(a), "removed": _by_node(b)}
    for before, after in _paired(_of(a, "launches"), _of(b, "launches"), *keys):
        change = "added" if before is None else "removed" if after is None else "changed"
        pair, ir = (before, after), [_ir(a, before), _ir(b, after)]
        what = [] if before is None or after is None else [*_differences(before, after, ir)]
        if change == "changed" and not what:
            same += 1
            continue
        launch = after if before is None else before
        assert launch is not None, "a pair has one of them"
        others = [homes[change].get(node, "") for node in launch["nodes"]] if change in homes else []
        found.append(
            {
                "change": change,
                "what": what,
                "name": launch["name"],
                "lines": launch["lines"],
                "us": [each and each["us"] for each in pair],
                "bytes": [each and each["bytes"] for each in pair],
                "ir": ir if "IR" in what else [None, None],
                "others": [*dict.fromkeys(filter(None, others))],
            }
        )
    return found, same


def _ir(graph: Graph | None, launch: Graph | None) -> str | None:
    return None if graph is None or launch is None else graph["functions"].get(launch["name"])


def _differences(before: Graph, after: Graph, ir: Sequence[str | None]) -> Iterator[str]:
    if before["us"] != after["us"]:
        yield "time"
    if before["bytes"] != after["bytes"]:
        yield "bytes"
    if _places(before) != _places(after):
        yield "lines"
    if ir[0] != ir[1]:
        yield "IR"


def _paired(
    before: Sequence[Graph], after: Sequence[Graph], *keys: Callable[[Graph], Hashable]
) -> Iterator[tuple[Graph | None, Graph | None]]:
    """By the first key, what is left by the next one."""
    for key in keys:
        rest: tuple[list[Graph], list[Graph]] = ([], [])
        for a, b in _pairs(before, after, key):
            if a is not None and b is not None:
                yield a, b
            elif a is not None:
                rest[0].append(a)
            elif b is not None:
                rest[1].append(b)
        before, after = rest
    yield from ((a, None) for a in before)
    yield from ((None, b) for b in after)


def _pairs(
    before: Sequence[Graph], after: Sequence[Graph], key: Callable[[Graph], Hashable]
) -> Iterator[tuple[Graph | None, Graph | None]]:
    """Those of equal keys, in order; each that is left with None."""
    waiting = defaultdict[Hashable, list[Graph]](list)
    for each in after:
        waiting[key(each)].append(each)
    for each in before:
        found = waiting[key(each)]
        yield each, found.pop(0) if found else None
    for each in after:
        if any(each is left for left in waiting[key(each)]):
            yield None, each


def _remarks(a: Graph | None, b: Graph | None) -> Iterator[dict[str, str]]:
    """Remarks that one graph alone has; their numbers and places do not count."""
    for change, graph, other in (("gone", a, b), ("added", b, a)):
        left = Counter(_decision(remark) for remark in _of(other, "remarks"))
        for remark in _of(graph, "remarks"):
            left[_decision(remark)] -= 1
            if left[_decision(remark)] < 0:
                yield {"change": change, "text": remark["text"]}


def _decision(remark: Mapping[str, Any]) -> tuple[str, ...]:
    return (remark["kind"], remark["pass"], remark["rule"], *remark["ops"])


def _of(graph: Graph | None, name: str) -> Sequence[Any]:
    return [] if graph is None else graph[name]


def _places(launch: Graph) -> tuple[str, ...]:
    return tuple(PurePath(line).name for line in launch["lines"])


def _by_node(graph: Graph | None) -> dict[str, str]:
    """The launch that computes each FX node."""
    return {node: launch["name"] for launch in _of(graph, "launches") for node in launch["nodes"]}
