"""What the program cache stores, as text without code: JSON, and behind that of a program its module.

    length of the JSON (8 bytes) | {"schema": 2, "kind": "ProgramData", "data": {..}} | the module's text

The plan in it has torch's ops by their names.  Reading finds no class by a name, imports and calls nothing
that the data names.  It checks every type, validates the plan, and compares what the parts say of each other,
so that an entry that is read can be loaded; any other is a ``ValueError`` of one sentence.  The entry's key
is part of the bytes that its checksum is of (``runtime/cache/entry_bytes.py``).
"""

import json
import struct
from typing import TypeVar

import torch

from ..base.dataclass import dataclass
from ..base.json_data import from_json, to_json
from ..frontend.autograd.step_data import Look, TrainingStep
from ..frontend.importer.interface import OutputArgument, OutputResult
from ..runtime.plans.externs import named
from ..runtime.plans.plan import Plan
from ..runtime.plans.steps import Return
from ..runtime.plans.validate import validate
from .program import Account, Interface

_Kind = TypeVar("_Kind")

#: Raise it when the stored form changes otherwise than in its fields.
SCHEMA = 2
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class StoredKernel:
    """A kernel in the kernel cache, and the types of its arguments."""

    key: str
    signature: tuple[str, ...]


@dataclass(frozen=True)
class ProgramData:
    """A ``GpuProgram`` without its module."""

    interface: Interface
    account: Account
    plan: Plan
    kernels: dict[str, StoredKernel]


@dataclass(frozen=True)
class InferenceLink:
    """What a captured graph without gradients became: the name of a program, the inputs whose versions a call
    counts, and all that it writes to.
    """

    program: str
    written: tuple[int, ...]
    mutated: tuple[int, ...]


@dataclass(frozen=True)
class TrainingLink:
    """What a captured graph with gradients became: the names of two programs."""

    step: TrainingStep
    forward: str
    backward: str


def link_bytes(link: InferenceLink | TrainingLink) -> bytes:
    """The entry of a captured graph."""
    return _to_bytes(link)


def program_bytes(
    interface: Interface, account: Account, plan: Plan, kernels: dict[str, StoredKernel], module: str
) -> bytes:
    """The entry of a program.  ``module``: its text.  Raises ValueError for what JSON cannot say."""
    return _to_bytes(ProgramData(interface, account, plan, kernels)) + module.encode()


def read_inference(body: bytes) -> InferenceLink:
    """The link that ``link_bytes`` wrote.  Raises ValueError for any other bytes."""
    link, rest = _from_bytes(InferenceLink, body)
    _require(not rest, "something follows the link")
    _require(min((*link.written, *link.mutated), default=0) >= 0, "it writes to an input that is not there")
    return link


def read_training(body: bytes) -> TrainingLink:
    """As ``read_inference``."""
    link, rest = _from_bytes(TrainingLink, body)
    _require(not rest, "something follows the link")
    step = link.step
    for look in (*step.results, *step.made, *step.gradients):
        if look is not None:
            _check_look(look)
    limits = {"input": len(step.gradients), "result": len(step.results), "made": len(step.made)}
    _require(len(step.differentiable) == len(step.results), "it does not say which results have a gradient")
    for kind, number in step.saved:
        _require(0 <= number < limits.get(kind, 0), f"it saves {kind!r} {number}, which is not there")
    return link


def read_program(body: bytes) -> tuple[ProgramData, str]:
    """The program that ``program_bytes`` wrote, and its module.  Raises ValueError for any other
    bytes, and for a program that cannot be loaded.
    """
    program, module = _from_bytes(ProgramData, body)
    plan = program.plan
    validate(plan)
    declared = {kernel.name: kernel.parameters for kernel in plan.kernels}
    stored = {name: kernel.signature for name, kernel in program.kernels.items()}
    _require(declared == stored, "its kernels are not those of its plan")
    for extern in plan.externs:
        for text in named(extern):
            _require(not text.startswith("object:"), f"its plan names the object {text!r}")
    _check_interface(program.interface, plan)
    return program, module.decode()


def fits(program: ProgramData, placeholders: int) -> bool:
    """Whether a program takes its arguments from a graph with so many placeholders."""
    given = [o.index for o in program.interface.outputs if isinstance(o, OutputArgument)]
    return max((*program.interface.inputs, *given), default=-1) < placeholders


def _check_interface(interface: Interface, plan: Plan) -> None:
    last = plan.main.steps[-1]
    results = len(last.values) if isinstance(last, Return) else 0
    arguments = len(interface.inputs) + len(interface.constants)
    _require(arguments == len(plan.main.parameters), f"its plan does not take {arguments} arguments")
    _require(interface.results == results, f"its plan does not give {interface.results} results")
    _require(min(interface.inputs, default=0) >= 0, "it takes an input that is not there")
    for output in interface.outputs:
        if isinstance(output, OutputResult):
            _require(0 <= output.index < results, f"it has no result {output.index}")
        elif isinstance(output, OutputArgument):
            _require(output.index >= 0, f"it hands on the input {output.index}")
    _require(len(interface.strides) == len(interface.outputs), "it does not give the strides of each result")


def _check_look(look: Look) -> None:
    _require(isinstance(getattr(torch, look.dtype, None), torch.dtype), f"{look.dtype!r} is no dtype")
    _require(len(look.sizes) == len(look.strides), "a tensor has other strides than sizes")
    _require(min((*look.sizes, *look.strides), default=0) >= 0, "a tensor has a negative size")
    kind, _, number = look.device.partition(":")
    is_device = kind in ("cpu", "cuda") and (not number or (number.isdecimal() and len(number) < 5))
    _require(is_device, f"{look.device!r} is no device")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _to_bytes(value: ProgramData | InferenceLink | TrainingLink) -> bytes:
    content = {"schema": SCHEMA, "kind": type(value).__name__, "data": to_json(value)}
    text = json.dumps(content, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def _from_bytes(kind: type[_Kind], body: bytes) -> tuple[_Kind, bytes]:
    """The value at the beginning, and the bytes behind it."""
    start = _LENGTH.size
    end = start + _LENGTH.unpack_from(body)[0] if len(body) >= start else 0
    _require(start <= end <= len(body), "it does not have the length that it begins with")
    try:
        content = json.loads(body[start:end])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it holds no JSON: {error}") from None
    known = isinstance(content, dict) and content.keys() == {"schema", "kind", "data"}
    _require(known, "it holds no entry")
    expected = (SCHEMA, kind.__name__)
    _require(
        (content["schema"], content["kind"]) == expected, f"it holds no {kind.__name__} of schema {SCHEMA}"
    )
    return from_json(kind, content["data"]), body[end:]
