"""Compiles one model in a process of its own and measures how long that takes: the worker of the suite
`compile`.

`python -m fuse_mlir.bench.cold_start MODULE..` imports torch, Dynamo and the named modules, but no compiler.
For each job, which it reads as a line of JSON, it forks a process and writes the answer as a line. So every
figure is of a process that has compiled nothing. The figures leave out the import of torch and of the model's
library. They include the import of the compiler, from bytecode, as for an installed package.
"""

import compileall
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch._dynamo

from .models import CASES, ModelCase
from .models.case import Draw, Inputs
from .models.optimizers import AdamStep

ADAM_TENSORS = 64


def _adam_state(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    """Parameters, gradients and moments: 64 tensors of 256x256 each."""
    draw = Draw(device, dtype)
    lists = [[draw.normal(256, 256) for _ in range(ADAM_TENSORS)] for _ in range(3)]
    squares = [draw.normal(256, 256).square() + 0.01 for _ in range(ADAM_TENSORS)]
    return Inputs((*lists, squares, torch.tensor(3.0, device=device)))


def _no_loss(outputs: object) -> Any:
    raise ValueError("an optimiser step has no loss")


ADAM = ModelCase(
    "adam_64", partial(AdamStep, foreach=False), _adam_state, _no_loss, {}, modes=("inference",), size="base"
)


def case_of(name: str) -> ModelCase:
    """A model by name; `adam_64` is a step of Adam over 64 tensors."""
    return ADAM if name == ADAM.name else CASES[name]


def compile_once(job: dict[str, Any]) -> dict[str, Any]:
    """Builds the model, runs it eagerly, and times `torch.compile` and the first step together.

    job: "case", "training", "backend" (aot_eager, inductor, fuse), "device", "dtype", "batch" and "folder",
    the compiler's caches. Returns {"seconds": .., "graphs": what fuse says of the time of each graph}.
    """
    device, dtype = torch.device(job["device"]), getattr(torch, job["dtype"])
    case, training, folder = case_of(job["case"]), job["training"], job["folder"]
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    torch.manual_seed(0)
    with device:
        module = case.build().to(dtype).train(training)
    inputs = case.inputs(job["batch"], device, dtype)
    finish = partial(torch.cuda.synchronize, device) if device.type == "cuda" else lambda: None

    def step(call: Callable[..., Any]) -> None:
        case.step(call, module, inputs, training)
        finish()

    step(module)  # torch's libraries start up here
    graphs: list[Any] = []
    start = time.perf_counter()
    backend, options = job["backend"], None
    if backend == "fuse":
        from ..compiler.backend import fuse as backend

        options = {"cache_dir": os.path.join(folder, "fuse"), "on_compiled": graphs.append}
    step(torch.compile(module, backend=backend, options=options, dynamic=False))
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "graphs": [{"name": g.name, "cached": g.cached, **g.timing.tree()} for g in graphs],
    }


def compile_bytecode() -> None:
    """Writes the bytecode of this package and of MLIR's bindings, as an installation does. A working tree has
    none at first, and never any under ``PYTHONDONTWRITEBYTECODE``.
    """
    ours = __package__.partition(".")[0]
    for name, parts in ((ours, ("compiler", "passes")), ("mlir", ("",)), ("torch_mlir", ("",))):
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for part in parts:
                compileall.compile_dir(os.path.join(folder, part), quiet=2)


def main() -> int:
    """Answers jobs until the input ends."""
    compile_bytecode()
    for name in sys.argv[1:]:
        with contextlib.suppress(Exception):  # the job of a model reports that its library is missing
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # compilers that print to stdout must not disturb the answers
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                answer = compile_once(json.loads(line))
            except Exception:
                answer = {"error": traceback.format_exc()[-2000:]}
            with os.fdopen(writer, "w") as pipe:
                pipe.write(json.dumps(answer))
            os._exit(0)  # skips finalisers of libraries that the parent has loaded too
        os.close(writer)
        with os.fdopen(reader) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        answers.write((answer or '{"error": "the process died"}') + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
