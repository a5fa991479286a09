"""Examples of the nodes of a captured graph, as Dynamo gives them: shared by tests, no test itself."""

from typing import Any

import torch
from torch import Tensor
from torch.fx import Interpreter, Node


class Told(Interpreter):
    """Gives nodes the examples that Dynamo gives them, as if they were on a device."""

    device = "cuda"

    def run_node(self, n: Node) -> Any:
        x = super().run_node(n)
        if isinstance(x, Tensor):
            how = {"dtype": x.dtype, "device": self.device, "requires_grad": x.requires_grad}
            n.meta["example_value"] = torch.empty_strided(x.shape, x.stride(), **how)
        return x
