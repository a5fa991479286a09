"""The settings of torch: those that tracing asks for, as text, and those that ask for other numbers; and what
it says of a device.

Two traces of one graph under equal texts are equal.

A graph of AOTAutograd names the ops that run.  A graph that Dynamo captured does not: these settings decide
which kernel dispatch chooses for attention and batch norm, how ops decompose, and what factories default to.

Who sets ``torch._inductor.config.batch_invariant`` expects it of what ``torch.compile`` makes, whichever
backend makes it. A switch that one of our options stands for sets that option, which is in keys. Any other
that promises more than this compiler does is an error, not silence. Switches that choose how Inductor
schedules or measures say nothing about numbers and are left alone. A switch that the installed torch lacks
asks for nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.utils import get_debug_dir
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config  # some decompositions are Inductor's

from ..base.options import OptionError, Options
from ..base.target import other_target


def torch_state() -> str:
    """One line; equal between processes."""
    cuda, cudnn, mkldnn = torch.backends.cuda, torch.backends.cudnn, torch.backends.mkldnn
    settings = (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        product_switches(),
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
        cuda.cudnn_sdp_enabled(),
        cuda.fp16_bf16_reduction_math_sdp_allowed(),
        torch._C._get_sdp_priority_order(),
        cudnn.enabled,
        cudnn.benchmark,
        cudnn.deterministic,
        mkldnn.enabled,
        functorch_config.get_hash().hex(),
        inductor_config.get_hash().hex(),
        getattr(functorch_config, "joint_custom_pass", None),
        functorch_config.activation_memory_budget_runtime_estimator,  # no hash has the two
        functorch_config.activation_memory_budget_solver,
        [type(mode).__qualname__ for mode in torch.overrides._get_current_function_mode_stack()],
    )
    return " ".join(map(str, settings))


def keeps_results() -> bool:
    """Whether AOTAutograd keeps what it makes of a graph, to be pickled: for ``aot_compile`` and under
    ``TORCH_CACHING_PRECOMPILE``.
    """
    return bool(functorch_config.bundled_autograd_cache or torch._dynamo.config.caching_precompile)


def capability_of(device: torch.device | str) -> int:
    """The compute capability of a device ("cuda:0"), 90 for 9.0; that where torch finds no GPU.  Under
    ``compiling_for``, the one that is asked for.
    """
    if (asked := other_target()) is not None:
        return asked
    device = torch.device(device)
    if device.type != "cuda" or not torch.cuda.is_available():
        return 90
    major, minor = torch.cuda.get_device_capability(device)
    return major * 10 + minor


def product_switches() -> str:
    """What torch's libraries may do in matrix products and convolutions on a GPU: round float32 to TF32, and
    add up in 16 bits.  One line.
    """
    matmul = torch.backends.cuda.matmul
    names = (
        "fp32_precision",
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
    )
    switches = (str(getattr(matmul, name, None)) for name in names)
    return " ".join((*switches, torch.backends.cudnn.conv.fp32_precision))


def rounds_float32(convolution: bool) -> bool:
    """Whether torch lets matrix products, or convolutions, round operands of float32 to TF32 on a GPU
    (``set_float32_matmul_precision``, ``allow_tf32``, ``fp32_precision``).  "bfx9" (torch 2.15) rounds
    nothing: a library adds nine products of bfloat16, which hold all digits of float32.
    """
    backend = torch.backends.cudnn.conv if convolution else torch.backends.cuda.matmul
    return backend.fp32_precision == "tf32"


#: Switch -> (the values that ask for it, the options that keep its promise).
HONOURED: Mapping[str, tuple[frozenset[Any], Mapping[str, Any]]] = {
    "emulate_precision_casts": (frozenset({True}), {"rounding": "eager"}),
    "fallback_random": (frozenset({True}), {"random": "torch"}),
}

#: Switch -> (the values that promise nothing, what this compiler does instead).
REFUSED: Mapping[str, tuple[frozenset[Any], str]] = {
    "batch_invariant": (
        frozenset({False}),
        "tiles, and the library's choice for a product, depend on all sizes, so bits of one sample may, too",
    ),
    "numerics": (
        frozenset({"default"}),
        "the options rounding='eager' and fp_fusion=False round as eager mode does, but functions and the "
        "order of sums are this compiler's own",
    ),
    "strict_signed_zero": (frozenset({False}), "a maximum or minimum of zeros of both signs may be either"),
    "eager_numerics.disable_ftz": (frozenset({False}), "exponentials flush subnormal numbers to zero"),
    "eager_numerics.use_pytorch_libdevice": (
        frozenset({False}),
        "functions are those of Triton's libdevice",
    ),
}

_TRITON = "triton"  #: Inductor's settings of the code that it generates for GPUs, not the package
#: Refused only where CUDA graphs are recorded.
GRAPHS_ONLY: Mapping[str, tuple[frozenset[Any], str]] = {
    "cudagraph_policy": (frozenset({None}), "what is recorded is decided by this compiler"),
    f"{_TRITON}.cudagraph_trees_generation_cloning": (
        frozenset({None}),
        "a result in the memory of a graph is an error once a later call has written over it: clone it",
    ),
    f"{_TRITON}.cudagraph_or_error": (
        frozenset({False}),
        "calls that no graph can record run between graphs, as `unrecorded` of the compiled graph says",
    ),
}


def with_torch_switches(options: Options) -> Options:
    """The options, with those set that a switch of torch asks for.

    Raises OptionError for a switch that asks for what no option gives.
    """
    refused = {**REFUSED, **GRAPHS_ONLY} if options.cudagraphs else REFUSED
    for name, (harmless, instead) in refused.items():
        value = _value(name)
        if value is not None and value not in harmless:
            raise OptionError(
                f"torch._inductor.config.{name} is {value!r}, which the backend fuse does not give: {instead}"
                f". Set it back for this call (torch._inductor.config.patch)"
            )
    for name, (asking, kept) in HONOURED.items():
        if _value(name) in asking:
            options = replace(options, **kept)
    if options.dump is None and _value("trace.enabled"):  # TORCH_COMPILE_DEBUG=1
        options = replace(options, dump=Path(get_debug_dir()) / "fuse_mlir")
    return options


def _value(name: str) -> Any:
    """The switch's value; None where torch has none."""
    found: Any = inductor_config
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
