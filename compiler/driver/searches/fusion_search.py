"""The search of ``mode="max-autotune"`` for groups of kernels: measures one kernel against two.

An observer of the pipeline: before ``fuse-vertical`` runs it writes the table that the fusing passes then
read (``analysis/fusion/measured.py``).  It runs these passes on copies of the module, in rounds:

1. the passes merge groups, as the table of the rounds before says;
2. of the merges that are new, those whose estimate is near the limit are measured (``near_limit.py``): both
   groups as one kernel, and as two, each lowered by the rest of the pipeline, with all that fused into them;
3. where two kernels are faster, the table says so; other merges may come in the next round.

One kernel is the default, and two have to be faster in two independent comparisons (``samples.fastest``).
Where a kernel spills registers, two kernels are the default, and one has to be faster.  In the end, where
more than a pair has changed, all kernels that changed are measured against those of the default; where they
are not faster, its pairs merge as by default.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from ....passes.analysis_manager import AnalysisManager
from ....passes.base.program import Program
from ....passes.fusion.fuse_horizontal import FuseHorizontal
from ....passes.fusion.fuse_vertical import FuseVertical
from ....passes.fusion.fusing import Merge
from ....passes.pass_base import Pass
from ....passes.pipeline import FUSION, MERGING, Settings
from ....passes.products.review_libraries import group_keys, reviewed_products
from ...analysis.contraction.kernel_or_call import Review
from ...analysis.fusion.graph import GroupGraph
from ...analysis.fusion.measured import Measurement, PairKeys, measurements_text, read_measurements
from ...analysis.fusion.near_limit import may_measure, saved_part
from ...base.dataclass import dataclass
from ...base.timing import stage
from ...cost.devices import hardware_named
from ...cost.hardware import Hardware
from ...mlir import ir
from ...runtime.cache.cache_folder import CacheFolder
from ...runtime.gpu.load import PlanKernel
from ...runtime.gpu.program_form import ProgramForm
from ...runtime.gpu.program_timer import FormTimes
from ..spilled_tiles import SpilledTiles
from .part_forms import GraphPart, form_of, lowering_passes

log = logging.getLogger(__name__)

#: Rounds of merges, and pairs that are measured of a graph.
ROUNDS, MOST_PAIRS = 3, 48

Kernels = Mapping[str, PlanKernel]
#: A group: the numbers of its nodes.
Nodes = tuple[int, ...]


class Stopwatch(Protocol):
    """What compiles forms and times them (``runtime/gpu/program_timer.py``)."""

    def start(self, form: ProgramForm) -> Callable[[], Kernels | None]:
        """Starts compiling a form; what it returns waits, and gives None where Triton refuses a kernel."""

    def compare(self, forms: Sequence[tuple[ProgramForm, Kernels]], deadline: float) -> FormTimes | None:
        """Times forms, the default first; None where it cannot."""


#: Waits for forms that are being compiled: each with its kernels, None where Triton refuses one.
Started = Sequence[Callable[[], tuple[ProgramForm, Kernels] | None]]


@dataclass(frozen=True)
class Fused:
    """What the fusing passes made of a copy of the module: its groups, and the merges in order."""

    module: ir.Module
    graph: GroupGraph
    merges: tuple[Merge, ...]

    @property
    def groups(self) -> set[Nodes]:
        """Groups of kernels."""
        return {nodes for nodes in self.graph.members.values() if nodes[0] in self.graph.summaries}

    @cached_property
    def keys(self) -> PairKeys:
        """Names pairs of groups."""
        return PairKeys(self.graph)


@dataclass
class FusionSearch:
    """``table``: the file to write.  settings: of the pipeline, whose fusing passes read it.  seconds: of the
    graph.  identity: what a measurement depends on beside its kernels and the passes (device, versions).
    """

    stopwatch: Stopwatch
    table: Path
    settings: Settings
    folder: CacheFolder
    identity: str
    seconds: float = 30.0
    found: dict[str, Measurement] = field(default_factory=dict)
    measured: int = 0
    complete: bool = True  #: whether the time sufficed
    _names: dict[str, tuple[str, ...]] = field(default_factory=dict)  #: by the key of a pair, all its keys

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if p.name == "fuse-vertical":
            with stage("search", "measuring fusions"):
                self._search(module)

    def _search(self, module: ir.Module) -> None:
        deadline = time.monotonic() + self.seconds
        text = module.operation.get_asm(enable_debug_info=False)
        with module.context, ir.Location.unknown():
            tried = [self._fused(text)]
            if any(node.starts for node in tried[0].graph.deps.nodes):
                return  # processes that measure apart might schedule collectives apart
            while len(tried) <= ROUNDS and self._measure(tried[-1], deadline):
                tried.append(self._fused(text))
            while self._takes_back(tried, deadline):
                tried.append(self._fused(text))
            self._measure_products(tried[-1], deadline)
            self._tell()

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Nothing is left to do."""

    def _fused(self, text: str) -> Fused:
        """What the fusing passes of the pipeline do to a copy of the module, with what was found so far."""
        self._tell()
        module = ir.Module.parse(text)
        analyses = AnalysisManager(module)
        merges: list[Merge] = []
        for p in FUSION.passes(self.settings):
            if isinstance(p, FuseVertical | FuseHorizontal):
                merges += p.fused(module, analyses).merges
        graph = analyses.get(GroupGraph)
        graph.assign()
        return Fused(module, graph, tuple(merges))

    def _tell(self) -> None:
        """Writes the table."""
        self.table.parent.mkdir(parents=True, exist_ok=True)
        self.table.write_text(measurements_text(self.found), encoding="utf-8")

    @cached_property
    def _hardware(self) -> Hardware:
        return hardware_named(self.settings.hardware)

    # --- pairs ----------------------------------------------------------------------------------------------

    def _measure(self, fused: Fused, deadline: float) -> bool:
        """Measures merges; whether one of them is refused from now on."""
        refused = len(self._refused)
        waiting: list[tuple[tuple[str, ...], Started]] = []
        for key, merge in self._pairs(fused):
            stored = self._stored(key)
            if stored is not None:
                self._learn(key, stored)
            elif time.monotonic() >= deadline:
                self.complete = False
            elif len(waiting) + self.measured < MOST_PAIRS:
                pair = {"first": merge.first, "second": merge.second}
                keys, started = self._started(fused, GraphPart(pair, together=True), GraphPart(pair))
                waiting.append(((key, *keys), started))
        for keys, started in waiting:
            found = self._judged(started, deadline) if started else None
            if found is not None:
                self._learn(keys[0], self._write(keys, found))
                log.info("autotune: pair %s: %s %s", keys[0], found.why, dict(found.numbers))
        return len(self._refused) > refused

    def _learn(self, key: str, table: Mapping[str, Measurement]) -> None:
        """Takes in what was found of a pair, under all its keys."""
        self.found |= table
        self._names[key] = tuple(table)

    def _pairs(self, fused: Fused) -> list[tuple[str, Merge]]:
        """The merges that may be measured and are not known yet, the one that saves least first."""
        found: dict[str, tuple[float, Merge]] = {}
        for merge in fused.merges:
            first, second, gain = merge
            if not may_measure(fused.graph, (*first, *second)):
                continue
            part = saved_part(fused.graph, first, second, gain, self._hardware)
            key = None if part is None else fused.keys(first, second)
            if part is not None and key is not None and key not in self.found:
                found.setdefault(key, (part, merge))
        return [(key, merge) for key, (_, merge) in sorted(found.items(), key=lambda item: item[1][0])]

    def _started(self, fused: Fused, *parts: GraphPart) -> tuple[tuple[str, ...], Started]:
        """The forms, being compiled; none where one of them cannot be compiled alone.  The keys are other
        names of the pair, as later passes see it.
        """
        made = []
        for part in parts:
            found = form_of(fused.module, fused.graph, part, self.settings)
            if found is None:
                return (), []
            made.append((part, *found))
        keys = tuple(key for _, _, key in made if key)
        return keys, [partial(self._compiled, fused, p, f, self.stopwatch.start(f)) for p, f, _ in made]

    def _compiled(
        self, fused: Fused, part: GraphPart, form: ProgramForm, wait: Callable[[], Kernels | None]
    ) -> tuple[ProgramForm, Kernels] | None:
        """A form with its kernels.  The products take other tiles where one spills, as in the whole graph."""
        tried = SpilledTiles(self._hardware.shared_bytes)
        while True:
            kernels = wait()
            if kernels is None:
                return None
            products = [(form.sources[name].product, kernel.cubin) for name, kernel in kernels.items()]
            if not tried.learn((name, cubin) for name, cubin in products if name):
                return form, kernels
            found = form_of(fused.module, fused.graph, part, self.settings, tried.spills)
            if found is None:
                return None
            form, _ = found
            wait = self.stopwatch.start(form)

    def _judged(self, started: Started, deadline: float) -> Measurement | None:
        """What is found of a pair, whose forms are one kernel and two; None where nothing is.

        Where a kernel spills, two are the default.
        """
        together, apart = [compiled() for compiled in started]
        if apart is None:
            return None
        if together is None:
            return Measurement("not compiled")
        spilled = _spilled(together[1], apart[1])
        forms = [together, apart]
        compared = self._compared(forms if spilled is None else forms[::-1], deadline)
        if compared is None:
            return None
        us_together, us_apart = compared.microseconds if spilled is None else compared.microseconds[::-1]
        numbers = (("us_together", round(us_together, 2)), ("us_apart", round(us_apart, 2)))
        if spilled is None:
            return Measurement("slower" if compared.winner else "faster", numbers)
        why, spilled_bytes = spilled
        return Measurement("faster" if compared.winner else why, (("spilled_bytes", spilled_bytes), *numbers))

    def _compared(self, forms: Sequence[tuple[ProgramForm, Kernels]], deadline: float) -> FormTimes | None:
        compared = self.stopwatch.compare(forms, deadline) if time.monotonic() < deadline else None
        self.measured += 1
        self.complete = self.complete and (compared is not None or time.monotonic() < deadline)
        return compared

    # --- products -------------------------------------------------------------------------------------------

    def _measure_products(self, fused: Fused, deadline: float) -> None:
        """Of the kernels of products that could be calls of the library: measures each with its group, and
        the call with the kernels around it.  The default is what ``review-libraries`` estimates.
        """
        products = reviewed_products(Program.of(fused.module))
        nodes = {node.op: node.index for node in fused.graph.deps.nodes}
        for call, key in group_keys(fused.graph).items():
            if call not in products or key in self.found:
                continue
            stored = self._stored(key)
            if stored is not None:
                self.found |= stored
                continue
            group = fused.graph.members[fused.graph.group_of[nodes[call]]]
            if not may_measure(fused.graph, group):
                continue
            kernel, library = GraphPart({"k0": group}), GraphPart({"k0": group}, library=True)
            _, started = self._started(fused, kernel, library)
            forms = [form for form in (compiled() for compiled in started) if form is not None]
            kept = Review(self._hardware).estimated(*products[call]).generated
            compared = self._compared(forms if kept else forms[::-1], deadline) if len(forms) == 2 else None
            if compared is not None:
                us = compared.microseconds if kept else compared.microseconds[::-1]
                numbers = (("us_together", round(us[0], 2)), ("us_apart", round(us[1], 2)))
                slower = kept == bool(compared.winner)
                self.found |= self._write((key,), Measurement("slower" if slower else "faster", numbers))

    # --- what has changed in all ----------------------------------------------------------------------------

    def _takes_back(self, tried: Sequence[Fused], deadline: float) -> bool:
        """Compares the groups that the last of ``tried`` changed with those of the first, the default's.
        Whether pairs merge again, because the default's are not slower.
        """
        taken = False
        for old, new in _changes(tried[0].groups, tried[-1].groups):
            nodes = {n for group in old for n in group}
            pairs = {
                each.keys(m.first, m.second): sorted((m.first, m.second))
                for each in tried
                for m in each.merges
                if nodes.issuperset(m.first) and nodes.issuperset(m.second)
            }
            refused = {key: pair for key, pair in pairs.items() if key in self._refused}
            compared = len(old) == 1 and new in refused.values()  # as a pair
            if compared or self._pays(tried[0], old, new, deadline):
                continue
            for key in refused or list(self._refused):
                names = self._names.get(key, (key,))
                self.found |= dict.fromkeys(names, Measurement("faster in all"))
                taken = True
        return taken

    def _pays(self, default: Fused, old: Sequence[Nodes], new: Sequence[Nodes], deadline: float) -> bool:
        """Whether the groups ``new`` are faster than those of the default, ``old``, of the same nodes.  Where
        one of the default's kernels spills, it is enough that they are not slower.
        """
        key = f"{default.keys(*old)} {default.keys(*new)}"
        stored = self._stored(key)
        if stored is not None:
            return stored[key].why == "slower"
        parts = [
            GraphPart({f"k{n}": group for n, group in enumerate(each)}, recompute=True) for each in (old, new)
        ]
        _, started = self._started(default, *parts)
        forms = [compiled() for compiled in started]
        kernels = [form for form in forms if form is not None]
        if len(kernels) < len(parts):
            return bool(forms) and forms[0] is None
        spills = any(k.cubin.spilled for k in kernels[0][1].values())
        compared = self._compared(kernels[::-1] if spills else kernels, deadline)
        if compared is None:
            return False
        pays = bool(compared.winner) != spills
        self._write((key,), Measurement("slower" if pays else "faster in all"))
        return pays

    # --- what is known --------------------------------------------------------------------------------------

    @property
    def _refused(self) -> dict[str, Measurement]:
        return {key: found for key, found in self.found.items() if found.refusal is not None}

    def _entry(self, key: str) -> str:
        """The name that what was found has in the cache."""
        passes = (*MERGING.passes(self.settings), *lowering_passes(self.settings, recompute=False))
        parts = (self.identity, key, *map(str, passes))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _stored(self, key: str) -> dict[str, Measurement] | None:
        return self.folder.read(self._entry(key), partial(_stored_pair, key=key))

    def _write(self, keys: Sequence[str], found: Measurement) -> dict[str, Measurement]:
        """Stores what was found under the first of the keys; as a table with all of them."""
        table = dict.fromkeys(keys, found)
        self.folder.write(self._entry(keys[0]), measurements_text(table).encode())
        return table


def _stored_pair(data: bytes, key: str) -> dict[str, Measurement]:
    """Raises ValueError for what the search cannot have stored."""
    table = json.loads(data)
    if not isinstance(table, dict) or key not in table:
        raise ValueError("it is no measurement of this pair")
    return read_measurements(table)


def _spilled(together: Kernels, apart: Kernels) -> tuple[str, int] | None:
    """Which kernel spills, as a word of ``WHY``, and how many bytes; None where none does."""
    for which, kernels in (("first", apart), ("second", apart), ("fused", together)):
        named = (k.cubin.spilled for name, k in kernels.items() if which == "fused" or which in name)
        most = max(named, default=0)
        if most:
            return f"{which} spills", most
    return None


def _changes(old: set[Nodes], new: set[Nodes]) -> list[tuple[list[Nodes], list[Nodes]]]:
    """The groups that differ between two partitions of the same nodes, in the smallest parts that cover the
    same nodes.
    """
    found: list[tuple[set[int], list[Nodes], list[Nodes]]] = []
    for late, groups in ((False, old - new), (True, new - old)):
        for group in sorted(groups):
            nodes, before, after = set(group), [group] * (not late), [group] * late
            for part in [p for p in found if not p[0].isdisjoint(group)]:
                found.remove(part)
                nodes |= part[0]
                before += part[1]
                after += part[2]
            found.append((nodes, before, after))
    return [(sorted(before), sorted(after)) for _, before, after in found]
