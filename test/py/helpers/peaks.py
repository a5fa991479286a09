"""The most bytes that a function needs at once: planned, and in eager mode."""

import torch
from compiling import Compiled, cloned
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fuse_mlir.compiler.analysis.program.lifetimes import planned_bytes


class EagerPeak(TorchDispatchMode):
    """The most bytes that live after an op of the ops run inside, without the storages of ``given``."""

    def __init__(self, given_tensors):
        super().__init__()
        self.given = {StorageWeakRef(t.untyped_storage()) for t in given_tensors}
        self.alive = {}
        self.peak = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.alive = {ref: n for ref, n in self.alive.items() if not ref.expired()}
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                ref = StorageWeakRef(tensor.untyped_storage())
                if ref not in self.given:
                    self.alive[ref] = tensor.untyped_storage().nbytes()
        self.peak = max(self.peak, sum(self.alive.values()))
        return result


def planned_peak(function, args) -> int:
    compiled = Compiled(function, {"interpret_level": "planned", "hardware": "h200"})
    with torch._dynamo.config.patch(specialize_int=True):
        compiled(*cloned(args))
    return sum(planned_bytes(graph.module).peak for graph in compiled.graphs)


def eager_peak(function, args) -> int:
    given_tensors = cloned(args)
    with EagerPeak(given_tensors) as eager:
        function(*given_tensors)
    return eager.peak
