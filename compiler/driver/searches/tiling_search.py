"""The search of ``options={"autotune": True}``: measures the tiles beside the default one of every kernel.

An observer of the pipeline: when ``choose-tiling`` has run it writes the table that the pass
``autotune-tiling`` then reads.  Kernels that move most bytes come first, until the time is over.  Winners
are stored on disk by the kernel, the device and all versions; a kernel whose default tile won is stored too.
"""

import hashlib
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Protocol

from ....passes.memory.plan_memory import PlanMemory
from ....passes.pass_base import Pass, PassError
from ....passes.tiling.apply_tiling import apply_tiling
from ....passes.tiling.choose_tiling import ChooseTiling
from ....passes.tiling.lower_to_tt import LowerToTt
from ....passes.tiling.reroll_loops import RerollLoops
from ...analysis.kernel.shape import KernelShape
from ...analysis.tiling.candidates import kernel_key, tiles_to_try
from ...base.dataclass import dataclass
from ...base.remarks import Remarks
from ...base.timing import stage
from ...codegen.launches import kernel_sources
from ...cost.devices import hardware_named
from ...cost.hardware import Hardware
from ...index import parse
from ...ir.kernel import Kernel, is_kernel, is_tiled, kernel_ties, named_sizes, string, strings
from ...ir.layout import TensorSpec
from ...ir.nesting import nested_modules
from ...ir.sizes import estimate, hints_of
from ...ir.storage import functions_of
from ...ir.tile import Tile
from ...mlir import ir
from ...runtime.cache.cache_folder import CacheFolder
from ...runtime.gpu.trial import Argument, Trial

log = logging.getLogger(__name__)

#: Size symbol -> the size to measure with.
Hints = Mapping[str, int]


class Measurer(Protocol):
    """What finds the fastest of several forms of one kernel."""

    def fastest(self, trials: Sequence[Trial], deadline: float) -> int | None:
        """The number of the fastest; 0, the first one, unless another is faster beyond what is noise.  None
        where the time was too short (``deadline`` is on ``time.monotonic``) or the first one could not be
        measured.
        """


@dataclass
class TilingSearch:
    """``table``: the file to write.  seconds: for all kernels of the pipeline.  identity: what a winner
    depends on beside its kernel (device, versions).
    """

    measurer: Measurer
    table: Path
    folder: CacheFolder
    identity: str
    seconds: float = 60.0
    winners: dict[str, str] = field(default_factory=dict)
    measured: int = 0
    complete: bool = True  #: whether the time sufficed for every kernel

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Nothing to see yet."""

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if isinstance(p, ChooseTiling):
            with stage("search", "measuring tiles"):
                self._search(p, module)

    def _search(self, p: ChooseTiling, module: ir.Module) -> None:
        hardware = hardware_named(p.hardware)
        deadline = time.monotonic() + self.seconds
        with module.context, ir.Location.unknown():
            device = str(module.operation.attributes["fuse.device"])
            for func, hints in sorted(_tunable(module), key=lambda found: _bytes(*found), reverse=True):
                winner = self._winner(func, hints, device, hardware, deadline)
                if winner is not None:
                    self.winners[kernel_key(func)] = winner
        self.table.parent.mkdir(parents=True, exist_ok=True)
        self.table.write_text(json.dumps(self.winners, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def _winner(
        self, func: ir.Operation, hints: Hints, device: str, hardware: Hardware, deadline: float
    ) -> str | None:
        """The text of the best tile; None for the default one."""
        parts = (self.identity, kernel_key(func), *(f"{name}={hints[name]}" for name in sorted(hints)))
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        default = Tile.of(func.attributes["fuse.tile"])
        shape = KernelShape.of(Kernel.of(func))
        choices = tiles_to_try(default, shape, hardware)
        stored = self.folder.read(key, partial(_stored_tile, choices=choices))
        if stored is not None:
            return stored or None
        if time.monotonic() >= deadline:
            log.info("autotune: no time left for @%s", string(func.attributes["sym_name"]))
            self.complete = False
            return None
        tiles, trials = [], []
        for tile in choices:
            trial = _trial(func, tile, hints, device, hardware.name)
            if trial is not None:
                tiles.append(tile)
                trials.append(trial)
        if len(tiles) < 2 or tiles[0] != default:
            return None
        self.measured += 1
        found = self.measurer.fastest(trials, deadline)
        if found is None:
            self.complete = self.complete and time.monotonic() < deadline
            return None
        text = "" if found == 0 else str(tiles[found].attribute())
        self.folder.write(key, text.encode())
        return text or None


def _stored_tile(data: bytes, choices: Sequence[Tile]) -> str:
    """The text of a tile, "" for the default one.  Raises ValueError for one that the search cannot have
    stored.
    """
    text = data.decode()
    if text and text not in {str(tile.attribute()) for tile in choices}:
        raise ValueError("it names a tile that the search does not try")
    return text


def _tunable(module: ir.Module) -> Iterator[tuple[ir.Operation, Hints]]:
    """Kernels with a default tile whose data may be anything (one that asserts may stop the device), with the
    sizes that their ``@main`` expects.
    """
    seen = set()
    for part in (*nested_modules(module), module):
        expected = hints_of(functions_of(part)["main"])
        for op in part.body.operations:
            func = op.operation
            if not is_kernel(func) or is_tiled(func) or "fuse.tile" not in func.attributes:
                continue
            names = {o.operation.name for o in func.regions[0].blocks[0].operations}
            if names & {"fuse.device_assert", "cf.assert"} or kernel_key(func) in seen:
                continue
            seen.add(kernel_key(func))
            yield func, {**hints_of(func), **{n: h for n, h in expected.items() if n in named_sizes(func)}}


def _bytes(func: ir.Operation, hints: Hints) -> int:
    return sum(a.bytes for a in _arguments(func, hints))


def _arguments(func: ir.Operation, hints: Hints) -> list[Argument]:
    """What the kernel takes, in order, with every size at its hint."""
    found = []
    symbols = {number: name for name, number in named_sizes(func).items()}
    for number, argument in enumerate(func.regions[0].blocks[0].arguments):
        if isinstance(argument.type, ir.RankedTensorType):
            spec = TensorSpec.of(argument.type)
            elements = estimate(spec.storage_elements + spec.offset, hints)
            found.append(Argument(spec.element, elements, spec.element_bytes * elements))
        else:
            found.append(Argument(value=hints.get(symbols.get(number, ""), 0)))
    return found


def _trial(func: ir.Operation, tile: Tile, hints: Hints, device: str, hardware: str) -> Trial | None:
    """The kernel with ``tile``, ready to compile; None where it cannot be written so."""
    name = string(func.attributes["sym_name"])
    module = _alone(func, device)
    copy = functions_of(module)[name]
    copy.attributes["fuse.tile"] = tile.attribute()
    try:
        apply_tiling(copy)
        remarks = Remarks()
        for p in (RerollLoops(hardware), PlanMemory(), LowerToTt()):
            p.run(module, remarks)
    except PassError as error:
        log.debug("autotune: @%s cannot have %s: %s", name, tile, error)
        return None
    [(launch, source)] = kernel_sources(module).items()
    declaration = functions_of(module)[launch]
    grid = [estimate(parse(g), hints) for g in strings(declaration.attributes["fuse.grid"])]
    parameters = [p.split(":") for p in strings(declaration.attributes["fuse.params"])]
    return Trial(
        source=source,
        grid=(*grid, *(1 for _ in range(3 - len(grid)))),
        parameters=tuple((int(number), kind) for number, kind in parameters),
        arguments=tuple(_arguments(func, hints)),
        written=tuple(kernel_ties(func)),
    )


def _alone(func: ir.Operation, device: str) -> ir.Module:
    """A module of the kernel and a ``@main`` that calls it with its own arguments."""
    name = string(func.attributes["sym_name"])
    type_ = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    attributes = (
        [str(a) for a in ir.ArrayAttr(func.attributes["arg_attrs"])]
        if "arg_attrs" in func.attributes
        else ["" for _ in type_.inputs]
    )
    taken = ", ".join(
        f"%a{i}: {t} {a}" for i, (t, a) in enumerate(zip(type_.inputs, attributes, strict=True))
    )
    given = ", ".join(f"%a{i}" for i in range(len(type_.inputs)))
    results = ", ".join(map(str, type_.results))
    handed = ", ".join(f"%r#{i}" for i in range(len(type_.results)))
    inputs = ", ".join(map(str, type_.inputs))
    main = (
        f"func.func @main({taken}) -> ({results}) {{\n"
        f"%r:{len(type_.results)} = call @{name}({given}) : ({inputs}) -> ({results})\n"
        f"return {handed} : {results}\n}}"
    )
    body = func.get_asm(enable_debug_info=False)
    return ir.Module.parse(f"module attributes {{fuse.device = {device}}} {{\n{main}\n{body}\n}}")
