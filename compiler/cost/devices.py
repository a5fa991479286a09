"""Which model a GPU is: by text, and by what a device says of itself.

A hardware model is named by text, so that a pass can take it as an option: ``h200``, or a model and what a
device says of itself, ``generic:sm_count=58:shared_bytes=101376``.

Figures that were measured belong to one model of GPU, which a device's name and compute capability tell.  Of
any other the vendor's peaks are derived from the clocks and widths that the driver reports.  What a kernel
may have (shared memory, registers, multiprocessors) is always what the device says: a slice of a GPU has its
name, too, and so has a card with fewer multiprocessors.
"""

import pkgutil
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from typing import Any

from . import gpus
from .hardware import Hardware


@cache
def models() -> tuple[str, ...]:
    """The names of all models, which are those of the files in ``gpus``."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(gpus.__path__)))


@cache
def _model(name: str) -> Hardware:
    """The model of that name, of ``models()``."""
    found = import_module(f".{name}", gpus.__name__).GPU
    assert isinstance(found, Hardware) and found.name == name, f"gpus/{name}.py has a GPU named {name}"
    return found


#: What may stand behind the name of a model, and how it is read.
_SETTINGS: dict[str, Any] = {"sm_count": int} | {
    f.name: type(f.default) for f in fields(Hardware) if type(f.default) in (bool, int, float)
}


def hardware_named(text: str) -> Hardware:
    """A model by its name, in any case, with the settings behind it: ``a100:sm_count=14``.

    Raises ValueError on an unknown name or setting, and on a value that no GPU has.
    """
    name, *settings = text.lower().split(":")
    if name not in models():
        raise ValueError(f"unknown hardware '{name}': expected one of {', '.join(models())}")
    given: dict[str, Any] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in _SETTINGS:
            raise ValueError(f"hardware '{name}' has no '{key}': expected one of {', '.join(_SETTINGS)}")
        given[key] = _value(key, value)
    return with_settings(_model(name), given)


def with_settings(gpu: Hardware, given: Mapping[str, Any]) -> Hardware:
    """The model with other values of some fields; its name says which differ.  ``given``: by field."""
    other = {key: value for key, value in given.items() if value != getattr(gpu, key)}
    text = ":".join([gpu.name, *(f"{key}={_text(value)}" for key, value in sorted(other.items()))])
    return replace(gpu, name=text, **other) if other else gpu


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


def device_hardware(properties: Any, named: str | None = None) -> Hardware:
    """The model of a device.  ``properties``: as ``torch.cuda.get_device_properties`` gives them.  ``named``:
    the model whose figures to take, instead of that which the device's name tells.
    """
    name = named or _model_name(properties)
    figures = _derived(properties) if name == "generic" and named is None else {}
    limits = {
        ours: found for theirs, ours in _LIMITS.items() if (found := getattr(properties, theirs, 0)) > 0
    }
    copies = properties.major >= 9  # Hopper's tensor memory accelerator
    return with_settings(_model(name), {**figures, **limits, "descriptors": copies})


def capability_hardware(capability: int) -> Hardware:
    """A model for any GPU of a capability, 90 for 9.0: the one of them with the least bandwidth, or else what
    all of its architecture have.
    """
    of_it = [gpu for gpu in map(_model, models()) if gpu.capability == divmod(capability, 10)]
    if of_it:
        return min(of_it, key=lambda gpu: gpu.bandwidth)
    shared = _SHARED.get(capability, 99) * 1024
    return with_settings(_model("generic"), {"shared_bytes": shared, "descriptors": capability >= 90})


#: KiB of shared memory that a program can have, by capability, where it is not 99 and no model says it.
_SHARED = {87: 163, 103: 227, 110: 227}


#: A word of the name of a device that has less than what its other words say.
_LESS = frozenset({"laptop", "max"})


def _model_name(properties: Any) -> str:
    """The model that has a word of the device's name, and its capability."""
    capability = (properties.major, properties.minor)
    words = set(re.findall(r"[a-z0-9]+", properties.name.lower()))
    known = (gpu for gpu in map(_model, models()) if gpu.capability == capability and not words & _LESS)
    return next((gpu.name for gpu in known if not words.isdisjoint(gpu.words)), "generic")


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
