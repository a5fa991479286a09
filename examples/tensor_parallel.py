"""A layer whose products are split over processes, compiled: `torchrun --standalone --nproc-per-node=2
examples/tensor_parallel.py`.  Each process runs on a GPU of its own, or, where there are none, on the CPU.
"""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import fuse_mlir


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[n, 32] -> [n, 32]."""
        return x + self.down(self.up(x).relu())


def main() -> None:
    """A forward and a backward in every process; says how far the loss is from the whole layer's."""
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    torch.manual_seed(0)
    layer, x = Layer().to(device), torch.randn(8, 32, device=device)
    expected = layer(x).square().mean()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    split = parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    compiled = torch.compile(split, backend=fuse_mlir.backend, options={"check_schedules": 60.0})
    loss = compiled(x).square().mean()
    loss.backward()
    if dist.get_rank() == 0:
        print(
            f"{dist.get_world_size()} processes, loss {loss.item():.4f}, off by {(loss - expected).abs():.1e}"
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
