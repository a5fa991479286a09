"""The settings of torch that tracing asks for, as text: two traces of one graph under equal texts are equal.

A graph of AOTAutograd names the ops that run.  A graph that Dynamo captured does not: these settings decide
which kernel dispatch chooses for attention and batch norm, how ops decompose, and what factories default to.
"""

import torch
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config  # some decompositions are Inductor's


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
        [type(mode).__qualname__ for mode in torch.overrides._get_current_function_mode_stack()],
    )
    return " ".join(map(str, settings))


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
    (``set_float32_matmul_precision``, ``allow_tf32``, ``fp32_precision``)."""
    backend = torch.backends.cudnn.conv if convolution else torch.backends.cuda.matmul
    return backend.fp32_precision == "tf32"
