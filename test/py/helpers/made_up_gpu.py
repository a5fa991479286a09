"""The GPU path of the backend on a machine without one: plans are written, kernels compiled for the card's
capability, stored and looked up as ever; only launching does nothing but write down which kernel it was.
"""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from unittest import mock

import torch

from fuse_mlir.compiler.driver import request
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.plans.plan import Plan

#: What drivers say of cards: multiprocessors, KiB of shared memory of a program, MiB of L2 cache, MHz of the
#: multiprocessors and of the memory, and bits of its bus.
CARDS = {
    "NVIDIA H200": (132, 227, 50, 1980, 3201, 6144),
    "NVIDIA H100 80GB HBM3": (132, 227, 50, 1980, 2619, 5120),
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb": (16, 227, 6, 1980, 2619, 640),
    "NVIDIA H800": (132, 227, 50, 1980, 2619, 5120),
    "NVIDIA H20": (78, 227, 60, 1980, 2619, 6144),
    "NVIDIA A100-SXM4-80GB": (108, 163, 40, 1410, 1593, 5120),
    "NVIDIA RTX A1000": (18, 99, 2, 1462, 6001, 128),
    "NVIDIA A10G": (80, 99, 6, 1710, 6251, 384),
    "NVIDIA L4": (58, 99, 48, 2040, 6251, 192),
    "NVIDIA GeForce RTX 4090": (128, 99, 72, 2520, 10501, 384),
    "NVIDIA GeForce RTX 4090 Laptop GPU": (76, 99, 64, 2040, 9001, 256),
    "NVIDIA GeForce RTX 4080": (76, 99, 64, 2505, 11201, 256),
    "NVIDIA L40S": (142, 99, 96, 2520, 9001, 384),
    "NVIDIA B200": (148, 227, 126, 1965, 3996, 8192),
    "NVIDIA GeForce RTX 5090": (170, 99, 96, 2407, 14001, 512),
}


def card(name: str, capability: tuple[int, int]) -> SimpleNamespace:
    """The properties of a card, as torch gives them."""
    multiprocessors, shared, l2, clock, memory, bus = CARDS[name]
    return SimpleNamespace(
        name=name,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=multiprocessors,
        shared_memory_per_block_optin=shared << 10,
        regs_per_multiprocessor=65536,
        L2_cache_size=l2 << 20,
        clock_rate=clock * 1000,
        memory_clock_rate=memory * 1000,
        memory_bus_width=bus,
    )


@contextlib.contextmanager
def made_up_gpu(name: str = "NVIDIA H200", capability: tuple[int, int] = (9, 0)) -> Iterator[list[str]]:
    """CPU graphs take the way of CUDA graphs inside; yields the launches, in the order in which they ran.
    ``name``: a key of ``CARDS``.
    """
    launched: list[str] = []

    def load_kernels(plan: Plan, kernels: Mapping[str, load.PlanKernel]) -> dict[str, object]:
        return {kernel: partial(_launch, launched, kernel) for kernel in kernels}

    with (
        mock.patch.object(request, "runs_on_gpu", lambda device, options: True),
        mock.patch.object(load, "load_kernels", load_kernels),
        mock.patch.object(torch.cuda, "get_device_name", lambda device=None: name),
        mock.patch.object(torch.cuda, "get_device_capability", lambda device=None: capability),
        mock.patch.object(torch.cuda, "get_device_properties", lambda device=None: card(name, capability)),
    ):
        yield launched


def _launch(launched: list[str], kernel: str, *arguments: object) -> None:
    launched.append(kernel)
