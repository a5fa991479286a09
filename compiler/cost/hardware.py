"""What tiling reads about a GPU.  Figures are the vendors' published ones; ``generic`` is a cautious
mixture.

A hardware model is named by text, so that a pass can take it as an option: ``h200``, or a model and what a
device says of itself, ``generic:sm_count=58:shared_bytes=101376``.

Figures that were measured belong to one model of GPU, which a device's name and compute capability tell.  Of
any other the vendor's peaks are derived from the clocks and widths that the driver reports.  What a kernel
may have (shared memory, registers, multiprocessors) is always what the device says: a slice of a GPU has its
name, too, and so has a card with fewer multiprocessors.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..base.dataclass import dataclass


@dataclass(frozen=True)
class Link:
    """What connects GPUs, in GB/s of one direction.  ``host``: what NCCL reaches from a GPU to the others of
    its host; ``network``: of a GPU to other hosts; ``flagged``, ``flagged_network``: what NCCL's protocol
    LL, which sends a flag with every word, reaches at most in a host and between hosts; ``host_gpus``: GPUs
    of a host.
    """

    host: float
    network: float
    flagged: float
    flagged_network: float
    host_gpus: int = 8


#: NVLink 4: as measured with all-gathers of 370 MB between two H200, of 18 links of 20.6 GB/s.  NVLink 3: 12
#: links of 20.  These and the limits of LL are those of NCCL's tuning model; networks have 400 and 200 Gbit/s
#: for each GPU.
_NVLINK4, _NVLINK3 = Link(256.0, 50.0, 141.0, 45.0), Link(12 * 20.0, 25.0, 87.7, 22.5)


@dataclass(frozen=True)
class Hardware:
    """A GPU.  Bytes unless said; ``bandwidth`` in GB/s of device memory.  ``name``: the text that
    ``hardware_named`` takes.
    """

    name: str
    sm_count: int
    registers: int = 65536  #: 32-bit registers of an SM
    shared_bytes: int = 164 * 1024  #: shared memory that the programs of an SM can use
    l2_bytes: int = 40 << 20
    warp: int = 32
    max_warps: int = 16  #: of a program, as a rule; programs of long rows have twice as many
    bandwidth: int = 1500
    clock: float = 1.5  #: GHz under load
    launch: float = 2.0  #: microseconds that a kernel costs beside its work; a round figure for all GPUs
    start: float = (
        30.0  #: microseconds that the start of a collective costs the host; as measured beside H200
    )
    tensor_tflops: int = 300  #: of matrix products in half precision; others in proportion
    link: Link = _NVLINK3
    descriptors: bool = False  #: whether one instruction copies a whole tile
    fitted: bool = False  #: whether the estimates of products are fitted to what was measured on it

    @property
    def full_grid(self) -> int:
        """Programs that give every SM two: with fewer, some of the chip idles."""
        return 2 * self.sm_count

    @property
    def weighed_grid(self) -> int:
        """Programs of one warp that read what memory gives, where each sums the columns of a matrix."""
        return 15 * self.full_grid

    @property
    def slots_per_second(self) -> float:
        """Scalar operations that all lanes of all SMs issue in a second."""
        return self.sm_count * 128 * self.clock * 1e9

    def flops_per_second(self, element: str) -> float:
        """Peak of matrix products of an element type (an MLIR spelling).  float32 counts as tf32."""
        return self.tensor_tflops * 1e12 * _TENSOR_SPEED.get(element, 0.5)


#: Speed of matrix products beside half precision.
_TENSOR_SPEED = {"bf16": 1.0, "f16": 1.0, "f8E4M3FN": 2.0, "f8E5M2": 2.0, "i8": 2.0, "f32": 0.5, "f64": 0.07}

PRESETS = {
    "h200": Hardware(
        "h200",
        132,
        shared_bytes=227 * 1024,
        l2_bytes=50 << 20,
        bandwidth=4800,
        clock=1.7,
        tensor_tflops=990,
        link=_NVLINK4,
        descriptors=True,
        fitted=True,
    ),
    "h100": Hardware(
        "h100",
        132,
        shared_bytes=227 * 1024,
        l2_bytes=50 << 20,
        bandwidth=3350,
        clock=1.7,
        tensor_tflops=990,
        link=_NVLINK4,
        descriptors=True,
    ),
    "a100": Hardware(
        "a100", 108, shared_bytes=163 * 1024, l2_bytes=40 << 20, bandwidth=2039, clock=1.4, tensor_tflops=312
    ),
    "generic": Hardware("generic", 132),
}


#: What may stand behind the name of a model, and how it is read.
_SETTINGS: dict[str, Any] = {"sm_count": int} | {
    f.name: type(f.default)
    for f in fields(Hardware)
    if type(f.default) in (bool, int, float) and f.name != "fitted"
}


def hardware_named(text: str) -> Hardware:
    """A model by its name, in any case, with the settings behind it: ``a100:sm_count=14``.

    Raises ValueError on an unknown name or setting, and on a value that no GPU has.
    """
    name, *settings = text.lower().split(":")
    found = PRESETS.get(name)
    if found is None:
        raise ValueError(f"unknown hardware '{name}': expected one of {', '.join(PRESETS)}")
    given: dict[str, Any] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in _SETTINGS:
            raise ValueError(f"hardware '{name}' has no '{key}': expected one of {', '.join(_SETTINGS)}")
        given[key] = _value(key, value)
    return with_settings(found, given)


def with_settings(model: Hardware, given: Mapping[str, Any]) -> Hardware:
    """The model with other values of some fields; its name says which differ.  ``given``: by field."""
    other = {key: value for key, value in given.items() if value != getattr(model, key)}
    text = ":".join([model.name, *(f"{key}={_text(value)}" for key, value in sorted(other.items()))])
    return replace(model, name=text, **other) if other else model


def _value(key: str, text: str) -> Any:
    kind = _SETTINGS[key]
    try:
        value = {"true": True, "false": False}[text] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"the hardware's '{key}' is a {kind.__name__}, got '{text}'") from None
    if kind is not bool and not 0 < value < float("inf"):
        raise ValueError(f"the hardware's '{key}' is more than 0, got {text}")
    return value


def _text(value: Any) -> str:
    return str(value).lower()


#: A word of the name of a device, its capability, and the model whose figures it has.
_MODELS = (
    ("h200", (9, 0), "h200"),
    ("h100", (9, 0), "h100"),
    ("h800", (9, 0), "h100"),
    ("a100", (8, 0), "a100"),
    ("a800", (8, 0), "a100"),
)

#: Multiplications and additions of half-precision products that a multiprocessor does in a clock, by
#: capability, from NVIDIA's architecture papers; of others as in the small ones, whose cards for games sum in
#: float32 at half of it.
_PRODUCTS = {(8, 0): 2048, (9, 0): 4096, (10, 0): 8192, (10, 3): 8192}
_OTHER_PRODUCTS = 1024

#: Properties of torch that are limits: the field of the model that each one is.
_LIMITS = {
    "multi_processor_count": "sm_count",
    "shared_memory_per_block_optin": "shared_bytes",
    "regs_per_multiprocessor": "registers",
    "L2_cache_size": "l2_bytes",
}


def device_hardware(properties: Any, model: str | None = None) -> Hardware:
    """The model of a device.  ``properties``: as ``torch.cuda.get_device_properties`` gives them.  ``model``:
    the one whose figures to take, instead of that which the device's name tells.
    """
    name = model or _model(properties)
    figures = _derived(properties) if name == "generic" and model is None else {}
    limits = {
        ours: found for theirs, ours in _LIMITS.items() if (found := getattr(properties, theirs, 0)) > 0
    }
    copies = properties.major >= 9  # Hopper's tensor memory accelerator
    return with_settings(PRESETS[name], {**figures, **limits, "descriptors": copies})


def capability_hardware(capability: int) -> Hardware:
    """A model for any GPU of a capability, 90 for 9.0: the smallest that was measured, or else what all of
    its architecture have.
    """
    if capability in _MEASURED:
        return PRESETS[_MEASURED[capability]]
    shared = _SHARED.get(capability, 99) * 1024
    return with_settings(PRESETS["generic"], {"shared_bytes": shared, "descriptors": capability >= 90})


#: Models that were measured, by capability, and KiB of shared memory that a program of others can have.
_MEASURED = {80: "a100", 90: "h100"}
_SHARED = {87: 163, 100: 227, 103: 227, 110: 227}


def _model(properties: Any) -> str:
    capability = (properties.major, properties.minor)
    words = re.findall(r"[a-z0-9]+", properties.name.lower())
    return next((model for word, of, model in _MODELS if word in words and of == capability), "generic")


def _derived(properties: Any) -> dict[str, int | float]:
    """The peaks of a GPU without figures.  A driver that does not tell a clock leaves the generic figure."""
    figures: dict[str, int | float] = {}
    clock = getattr(properties, "clock_rate", 0) / 1e6  # kHz
    memory = getattr(properties, "memory_clock_rate", 0) / 1e6
    width = getattr(properties, "memory_bus_width", 0)
    if memory > 0 and width > 0:
        figures["bandwidth"] = round(2 * memory * width / 8)
    if clock > 0:
        per_clock = _PRODUCTS.get((properties.major, properties.minor), _OTHER_PRODUCTS)
        figures["clock"] = round(clock, 2)
        figures["tensor_tflops"] = max(1, round(properties.multi_processor_count * per_clock * clock / 1e3))
    return figures
