"""What loading an exported program costs a new process: our packages beside those of AOTInductor.

    python -m fuse_mlir.bench.package_load --device cpu --turns 10 --out load.json

GPT-2 small in float32 is exported, compiled ahead of time by both, and loaded in turns, each time in a
process of its own.  Seconds begin when torch is imported and the device has its context; they end when the
program is there (`load`), and when its first call has ended (`first`).  The answer is compared with float64.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram, export

from .models.gpt2_small import GPT2, GPT2Config

#: Who loads, and whose package.  `aotinductor-alone` is torch's loader in C++ without the Python around it.
LOADERS = {"fuse": "fuse", "aotinductor": "aotinductor", "aotinductor-alone": "aotinductor"}
#: The widths of a model that only tries the machinery.
SMALL = {"vocab": 64, "n_layer": 1, "n_head": 2, "n_embd": 32, "block": 32}


class Logits(nn.Module):
    """GPT-2 without a loss."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.model = GPT2(config)

    def forward(self, idx: Tensor) -> Tensor:
        """idx: int64 [batch, tokens].  Returns float32 [batch, tokens, vocab]."""
        logits: Tensor = self.model(idx)[0]
        return logits


def tokens(config: GPT2Config, device: str) -> Tensor:
    """The one argument: int64 [1, at most 64]."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(config.vocab, (1, min(64, config.block)), generator=generator).to(device)


def made(config: GPT2Config, device: str) -> tuple[ExportedProgram, Tensor]:
    """The program, and its answer in float64, on the CPU."""
    torch.manual_seed(0)
    model, idx = Logits(config).eval(), tokens(config, device)
    with torch.no_grad():
        reference = deepcopy(model).to(device).double()(idx).cpu()
        return export(model.to(device), (idx,)), reference


def build(loader: str, config: GPT2Config, device: str, path: Path) -> None:
    """Compiles the program ahead of time into `path`, and writes what float64 gives beside it."""
    program, reference = made(config, device)
    if loader == "fuse":
        import fuse_mlir

        fuse_mlir.package(program, path)
    else:
        from torch._inductor import aoti_compile_and_package

        aoti_compile_and_package(program, package_path=str(path))
    torch.save(reference, path.with_suffix(".reference"))


def load(loader: str, config: GPT2Config, device: str, path: Path) -> dict[str, float]:
    """Loads and calls the program once in this process.  Seconds of the clock and of processor time, and the
    largest difference from float64.
    """
    idx = tokens(config, device)
    finish = torch.cuda.synchronize if idx.is_cuda else lambda: None
    finish()
    call: Callable[[Tensor], Tensor]
    seconds = [(time.perf_counter(), time.process_time())]
    if loader == "fuse":
        import fuse_mlir

        call = fuse_mlir.load(path, device=device)
    elif loader == "aotinductor":
        from torch._inductor import aoti_load_package

        call = aoti_load_package(str(path))
    else:
        runner = torch._C._aoti.AOTIModelPackageLoader(str(path), "model", False, 1, -1)

        def call(tokens: Tensor) -> Tensor:
            result: Tensor = runner.run([tokens])[0]
            return result

    for step in (lambda: None, lambda: call(idx), lambda: call(idx)):
        result = step()
        finish()
        seconds.append((time.perf_counter(), time.process_time()))
    found = {}
    for name, (before, after) in zip(("load", "first", "second"), pairwise(seconds), strict=True):
        found[name], found[f"{name} cpu"] = (b - a for a, b in zip(before, after, strict=True))
    reference = torch.load(path.with_suffix(".reference"))
    found["error"] = float((result.cpu().double() - reference).abs().max())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds, loads in turns, prints medians, and writes every sample."""
    parser = argparse.ArgumentParser(prog="python -m fuse_mlir.bench.package_load")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--small", action="store_true", help="tiny sizes: tries the machinery")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folder", type=Path, help="where packages are kept; built there at need")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a build may take")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)  # what a process of its own does
    args = parser.parse_args(arguments)
    config = GPT2Config(**(SMALL if args.small else {"n_layer": args.layers}))
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        if args.step:
            step, loader = args.step
            path = folder / f"{LOADERS[loader]}.pt2"
            result = {"build": build, "load": load}[step](loader, config, args.device, path)
            print(json.dumps(result))
            return 0
        folder.mkdir(exist_ok=True, parents=True)
        words = [sys.executable, "-m", "fuse_mlir.bench.package_load", *(arguments or sys.argv[1:])]
        words += ["--folder", str(folder), "--step"]
        built: dict[str, float] = {}
        for loader in dict.fromkeys(LOADERS.values()):
            if not (folder / f"{loader}.pt2").exists():
                start = time.perf_counter()
                subprocess.run([*words, "build", loader], check=True, timeout=args.limit, stdout=sys.stderr)
                built[loader] = time.perf_counter() - start
        samples: dict[str, list[dict[str, float]]] = {loader: [] for loader in LOADERS}
        for turn in range(args.turns):
            for loader in [*LOADERS][:: 1 if turn % 2 else -1]:
                said = subprocess.run([*words, "load", loader], check=True, stdout=subprocess.PIPE).stdout
                samples[loader].append(json.loads(said.splitlines()[-1]))
        sizes = {loader: (folder / f"{loader}.pt2").stat().st_size for loader in set(LOADERS.values())}
    record = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        "cores": len(os.sched_getaffinity(0)),
        "layers": config.n_layer,
        "built": built,
        "bytes": sizes,
        "samples": samples,
    }
    for loader, found in samples.items():
        print(f"{loader}: " + ", ".join(_figure(name, [one[name] for one in found]) for name in found[0]))
    if args.out is not None:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _figure(name: str, values: list[float]) -> str:
    """The median of the samples, and their range."""
    return f"{name} {median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


if __name__ == "__main__":
    sys.exit(main())
