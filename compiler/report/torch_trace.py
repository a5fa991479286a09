"""What ``TORCH_TRACE`` gets of a compilation, for tlparse.

tlparse makes a page of each artifact: the IR where a level is reached, remarks, launches, the launch plan,
compile time.  ``tlparse --inductor-provenance`` shows three texts side by side and lights up the lines that
belong together.  It knows the texts by the names that Inductor gives them: the captured graph, the graph that
was compiled, and what launches its kernels, here a list of the launches.

Stages of the compilation are events of the kind ``chromium_event``, which tlparse writes into a timeline.

Nothing here is called where nobody listens (``tracing``).
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._logging import trace_structured
from torch._logging._internal import trace_log

from ..base.dataclass import dataclass
from ..base.launch import Launch, line_text
from ..base.timing import StageKind

if TYPE_CHECKING:  # a program from the cache is traced without MLIR
    from ..mlir import ir


def tracing() -> bool:
    """Whether torch writes a trace.  Dynamo has written to it before, which takes out the handler of one that
    is off.
    """
    return bool(trace_log.handlers)


def trace_text(name: str, text: Callable[[], str]) -> None:
    """Writes an artifact that tlparse shows as text."""
    _artifact(name, "string", text)


def trace_json(name: str, value: Callable[[], Any]) -> None:
    """Writes an artifact that tlparse shows as JSON."""
    _artifact(name, "json", value)


def _artifact(name: str, encoding: str, payload: Callable[[], Any]) -> None:
    trace_structured(
        "artifact", lambda: {"name": name, "encoding": encoding}, payload_fn=payload, expect_trace_id=False
    )


@dataclass(frozen=True)
class TraceIR:
    """Watches a run of passes: writes the module before the first, and where a level is reached.

    graph: "forward", for example.  ends: the level by the number of the pass that ends it.
    """

    graph: str
    ends: Mapping[int, str]

    def before_pass(self, number: int, p: Any, module: "ir.Module") -> None:
        if number == 0:
            self._write("graph", module)

    def after_pass(self, number: int, p: Any, module: "ir.Module") -> None:
        if number in self.ends:
            self._write(self.ends[number], module)

    def _write(self, level: str, module: "ir.Module") -> None:
        trace_text(f"fuse_{self.graph}_{level}", lambda: module.operation.get_asm(enable_debug_info=True))


@dataclass(frozen=True)
class TracedCapture:
    """What is kept of a captured graph while what becomes of it is traced.

    graph_id: as in the provenance of nodes (``torch.fx.traceback.NodeSource``).  by_stack: its nodes by the
    user's stack, which the nodes of a backward graph have from those of the forward graph.
    """

    graph_id: int
    by_stack: Mapping[str, Sequence[str]]

    @staticmethod
    def of(gm: torch.fx.GraphModule) -> "TracedCapture":
        """Writes the captured graph."""
        trace_text("before_pre_grad_graph", lambda: _readable(gm))
        by_stack: dict[str, list[str]] = {}
        for node in gm.graph.nodes:
            if node.stack_trace:
                by_stack.setdefault(node.stack_trace, []).append(node.name)
        return TracedCapture(id(gm.graph), by_stack)

    def trace_compiled(self, gm: torch.fx.GraphModule, launches: Sequence[Launch]) -> None:
        """Writes a graph that was compiled, with all rewrites, and which lines of it, of the captured graph
        and of its launches (``trace_launches``) belong together.
        """
        trace_text("after_post_grad_graph", lambda: _readable(gm))
        captured = {node.name: self._sources(node) for node in gm.graph.nodes}
        computed = {_handle(number, each): each.nodes for number, each in enumerate(launches)}
        mappings = {
            "preToPost": _turned(captured),
            "postToPre": {name: sources for name, sources in captured.items() if sources},
            "cppCodeToPost": computed,
            "postToCppCode": _turned(computed),
            "version": 2.0,
        }
        trace_json("inductor_provenance_tracking_node_mappings", lambda: mappings)

    def _sources(self, node: torch.fx.Node) -> list[str]:
        """The nodes of the captured graph that a node comes from."""
        found: dict[str, None] = {}
        waiting = [*node.meta.get("from_node", ())]
        while waiting:
            source = waiting.pop()
            if source.graph_id == self.graph_id:
                found[source.name] = None
            waiting += source.from_node
        return [*found] or [*self.by_stack.get(node.stack_trace or "", ())]


def trace_launches(launches: Sequence[Launch]) -> None:
    """Writes the launches as a function, one line each; above it what it computes, and of which lines.
    tlparse looks for the line that follows its handle, ``name:number``.
    """
    trace_text("inductor_output_code", lambda: _launches_text(launches))


def _launches_text(launches: Sequence[Launch]) -> str:
    lines = ["def call(args):"]
    for number, launch in enumerate(launches):
        where = ", ".join(map(line_text, launch.lines)) or "no line of the program"
        nodes = ", ".join(launch.nodes) or "no node of the graph"
        lines += [f"    # {_handle(number, launch)} computes {nodes} of {where}", f"    {_call(launch)}"]
    return "\n".join(lines) + "\n"


def _handle(number: int, launch: Launch) -> str:
    return f"{launch.name}:{number}"


def _call(launch: Launch) -> str:
    about = "" if launch.estimate is None else f"  # {launch.estimate.bytes} bytes"
    return f"{launch.name}(){about}"


def _readable(gm: torch.fx.GraphModule) -> str:
    return gm.print_readable(print_output=False, include_stride=True, include_device=True)


def _turned(names: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Who names what, the other way round."""
    turned: dict[str, list[str]] = {}
    for name, others in names.items():
        for other in others:
            turned.setdefault(other, []).append(name)
    return turned


class StageEvents:
    """Writes each stage as an event of the timeline, of the thread that it ran in."""

    def __init__(self) -> None:
        self._open = threading.local()

    def began(self, kind: StageKind, name: str) -> None:
        self._stack().append(time.time_ns())

    def ended(self, kind: StageKind, name: str) -> None:
        stack = self._stack()
        if not stack:  # it began before the trace did
            return
        start = stack.pop()
        event = {
            "name": f"fuse {kind}: {name}",
            "ph": "X",
            "ts": start / 1e3,  # microseconds
            "dur": (time.time_ns() - start) / 1e3,
            "cat": "fuse_mlir",
            "tid": 0 if threading.current_thread() is threading.main_thread() else threading.get_native_id(),
            "pid": 0,  # as Dynamo's own events have
        }
        trace_structured("chromium_event", payload_fn=lambda: event, expect_trace_id=False)

    def expected(self, kind: StageKind, count: int) -> None:
        """The timeline has what was, not what will be."""

    def _stack(self) -> list[int]:
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        stack: list[int] = self._open.stack
        return stack
