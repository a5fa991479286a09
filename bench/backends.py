"""The table of compilers that are compared, and what each reports about a compilation."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from .dynamo import Backend
from .search_turns import inductor_searches_in_turns
from .turns import Turns


@dataclass(frozen=True)
class Spec:
    """One way to run a function.

    load: () -> what `torch.compile` takes as backend; None runs eagerly. mode: for `torch.compile`.
    reports: the backend takes `options={"on_compiled": f}`. options: more of them, for such a backend.
    searches: it times candidates during compilation, inside this context.
    """

    name: str
    load: Callable[[], Backend] | None
    mode: str | None = None
    reports: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    searches: Callable[[Turns], contextlib.AbstractContextManager[None]] = lambda turns: (
        contextlib.nullcontext()
    )


def _fuse() -> Backend:
    # imported late: eager and Inductor must run even where this cannot be imported
    from ..compiler.backend import fuse

    return fuse


def _table(*specs: Spec) -> Mapping[str, Spec]:
    table: dict[str, Spec] = {}
    for spec in specs:
        assert spec.name not in table, f"two backends are named {spec.name!r}"
        table[spec.name] = spec
    return table


BACKENDS = _table(
    Spec("eager", None),
    Spec("aot_eager", lambda: "aot_eager"),
    Spec("inductor", lambda: "inductor"),
    Spec(
        "inductor-max",
        lambda: "inductor",
        mode="max-autotune-no-cudagraphs",
        searches=inductor_searches_in_turns,
    ),
    Spec("inductor-graphs", lambda: "inductor", mode="reduce-overhead"),
    Spec("fuse", _fuse, reports=True),
    Spec("fuse-apart", _fuse, reports=True, options={"user_kernels": "apart"}),
    Spec("fuse-graphs", _fuse, reports=True, options={"cudagraphs": True}),
    Spec("fuse-eager", _fuse, reports=True, options={"rounding": "eager"}),
    Spec("fuse-float32", _fuse, reports=True, options={"rounding": "float32"}),
    Spec("fuse-library", _fuse, reports=True, options={"products": "library"}),
    Spec("fuse-generated", _fuse, reports=True, options={"products": "generated", "attention": False}),
    Spec("fuse-max", _fuse, reports=True, options={"autotune": True}, searches=Turns.alone),
)


@dataclass
class CompileReport:
    """What a compiler made, summed over the graphs of one function.

    graphs, generated: graphs compiled and kernels generated for them; externs: calls of library ops that
    remain; fallbacks: ops run eagerly because the compiler cannot generate them. None where the compiler does
    not say.
    seconds: compile time by stage.
    """

    graphs: int | None = None
    generated: int | None = None
    externs: int | None = None
    fallbacks: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, compiled: Any) -> None:
        """Add one compiled graph, as `on_compiled` hands it out."""
        self.graphs = (self.graphs or 0) + 1
        self.generated = (self.generated or 0) + compiled.launches_after
        self.externs = (self.externs or 0) + compiled.externs
        self.fallbacks = (self.fallbacks or 0) + len(compiled.fallbacks)
        for stage, seconds in compiled.seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


def compile_options(spec: Spec, report: CompileReport) -> dict[str, Any] | None:
    """Options for `torch.compile` that fill `report`; None for a backend that takes none."""
    return {"on_compiled": report.add, **spec.options} if spec.reports else None


def compile_function(
    spec: Spec, function: Callable[..., Any], report: CompileReport, **compile_args: Any
) -> Any:
    """`function` (or module) as the backend runs it; `report` is filled when it is first called."""
    if spec.load is None:
        return function
    backend = spec.load()
    return torch.compile(
        function, backend=backend, mode=spec.mode, options=compile_options(spec, report), **compile_args
    )


@contextlib.contextmanager
def fresh_compilation(spec: Spec, report: CompileReport) -> Iterator[None]:
    """Counts the kernels that Inductor generates inside, with its caches off, as cached kernels are not
    counted.
    """
    if spec.load is None or not spec.name.startswith("inductor"):
        yield
        return
    from torch._inductor import config, metrics

    metrics.reset()
    with config.patch(force_disable_caches=True):
        yield
    report.generated = metrics.generated_kernel_count
