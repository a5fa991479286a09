"""Small functions compiled up to their default tiles: shared by tests, no test itself."""

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import default_pipeline

FUNCTIONS = {
    "pointwise": (lambda x, w: x * w + 1, (64, 96), (96,)),
    "softmax": (lambda x, w: F.softmax(x * w, -1), (40, 96), (96,)),
    "columns": (lambda x, w: (x * w).sum(0), (300, 40), (40,)),
    "transposed": (lambda x, w: x.t() + w.t(), (48, 80), (48, 80)),
    "scan": (lambda x, w: (x * w).cumsum(1), (12, 96), (96,)),
}


PRODUCT = (lambda x, w: F.relu(x @ w) + 1, (64, 48), (48, 80))


def at_tiles(name: str, dynamic: bool = False) -> ir.Module:
    """The module of one of FUNCTIONS, or of PRODUCT, with default tiles."""
    function, *shapes = PRODUCT if name == "product" else FUNCTIONS[name]
    passes = default_pipeline("tiled")
    kept = passes[: [p.name for p in passes].index("choose-tiling") + 1]
    texts = []

    class Keep:
        def before_pass(self, number, p, module):
            if p.name == "apply-tiling":
                texts.append(module.operation.get_asm(enable_debug_info=True))

        def after_pass(self, number, p, module): ...

    assert kept
    products = "generated" if name == "product" else "auto"
    run = Compiled(function, {"interpret_level": "tiled", "products": products}, dynamic)
    real = PassManager.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            PassManager,
            "run",
            lambda self, module, remarks=None: real(
                PassManager(self.passes, observers=[Keep()], verify_each=False), module, remarks
            ),
        )
        run(*(torch.randn(shape) for shape in shapes))
    module = run.graphs[0].module
    with module.context, ir.Location.unknown():
        return ir.Module.parse(texts[0])
