"""Templates of custom ops: Triton kernels that are asked for when a graph is compiled, with which what stands
around them fuses.  docs/templates.md says how to write one.

    from fuse_mlir.templates import TemplateCall, TemplateKernel, register

    @register(torch.ops.mylib.rms_norm.default)
    def rms_norm(call: TemplateCall) -> TemplateKernel: ...
"""

from .compiler.fx.templates import (
    TemplateCall,
    TemplateConfigurations,
    TemplateKernel,
    TemplateTensor,
    TemplateTtir,
    register,
    unregister,
)

__all__ = [
    "TemplateCall",
    "TemplateConfigurations",
    "TemplateKernel",
    "TemplateTensor",
    "TemplateTtir",
    "register",
    "unregister",
]
