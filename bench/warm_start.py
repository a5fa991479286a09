"""What the first training step of GPT-2 costs a new process that finds everything compiled.

    python -m fuse_mlir.bench.warm_start --device cpu --turns 10 --beside PATH --out warm.json

`cache` has a full cache, of which Dynamo and AOTAutograd know nothing; `precompile` also has what Dynamo made
(`TORCH_CACHING_PRECOMPILE`, `torch.compiler.load_cache_artifacts`).  Programs for a CPU are not kept, so
`cache` says something with `--device cuda` alone.  `--beside` names a folder on Python's path that holds
another checkout of `fuse_mlir`, which takes turns under `cache`.  Each sample is the first step of a process
less its second; torch, transformers and the model are there before, the backend is imported and artifacts
are loaded within.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

#: Tiny sizes: what the step computes takes no time.
TINY = {"vocab": 64, "n_layer": 12, "n_head": 2, "n_embd": 64, "block": 32}


def sample(state: str, folder: Path, device: str) -> dict[str, float]:
    """The first step of this process above its second: seconds of the clock, of processor time, and of the
    latter in Python's garbage collector.  Fills the folder where it is new.
    """
    os.environ["FUSE_MLIR_CACHE_DIR"] = str(folder / "fuse")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    if state == "precompile":
        os.environ["TORCH_CACHING_PRECOMPILE"] = "1"
    import torch
    import torch._dynamo
    import transformers  # noqa: F401 (a program that trains GPT-2 has it)

    from fuse_mlir.bench.models.gpt2_small import GPT2, GPT2Config

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2(GPT2Config(**TINY)).to(device)
    tokens, targets = (torch.randint(TINY["vocab"], (1, 16), device=device) for _ in range(2))

    def step(call: Any) -> None:
        call(tokens, targets)[1].backward()
        model.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()

    step(model)  # torch's libraries start up here
    artifacts = folder / "artifacts"
    collected = Collected()
    seconds = [(time.perf_counter(), time.process_time(), collected.seconds)]
    import fuse_mlir

    backend = fuse_mlir.backend
    if state == "precompile" and artifacts.exists():
        torch.compiler.load_cache_artifacts(artifacts.read_bytes())
    compiled = torch.compile(model, backend=backend)
    for _ in range(2):
        step(compiled)
        seconds.append((time.perf_counter(), time.process_time(), collected.seconds))
    if state == "precompile" and not artifacts.exists():
        saved = torch.compiler.save_cache_artifacts()
        if saved is None:
            raise RuntimeError("torch has saved no artifacts")
        artifacts.write_bytes(saved[0])
    start, first, second = seconds
    wall, cpu, collector = (2 * b - a - c for a, b, c in zip(start, first, second, strict=True))
    return {"wall": wall, "cpu": cpu, "collector": collector}


class Collected:
    """Processor seconds that garbage collections have taken since this was made."""

    def __init__(self) -> None:
        self.seconds, self._start = 0.0, 0.0
        gc.callbacks.append(self._told)

    def _told(self, phase: str, _: object) -> None:
        if phase == "start":
            self._start = time.process_time()
        else:
            self.seconds += time.process_time() - self._start


def main() -> int:
    """Fills the caches, starts in turns, prints medians, and writes every sample."""
    parser = argparse.ArgumentParser(prog="python -m fuse_mlir.bench.warm_start")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--beside", type=Path, help="a folder that holds another fuse_mlir")
    parser.add_argument("--only", choices=("cache", "precompile"), help="one of both")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)  # what a process of its own does
    args = parser.parse_args()
    if args.step:
        state, folder = args.step
        print(json.dumps(sample(state, Path(folder), args.device)))
        return 0
    ours = os.environ.get("PYTHONPATH", "")
    forms = {state: (state, ours) for state in ("cache", "precompile") if args.only in (None, state)}
    if args.beside is not None:
        forms["beside"] = ("cache", f"{args.beside.resolve()}{os.pathsep}{ours}")
    samples: dict[str, list[dict[str, float]]] = {form: [] for form in forms}
    with tempfile.TemporaryDirectory() as temporary:
        for turn in range(-1, args.turns):
            for form, (state, path) in forms.items():
                folder = Path(temporary, form)
                folder.mkdir(exist_ok=True)
                # -P: no module of this folder is taken for one that torch imports
                words = [
                    sys.executable,
                    "-P",
                    __file__,
                    "--device",
                    args.device,
                    "--step",
                    state,
                    str(folder),
                ]
                environment = {**os.environ, "PYTHONPATH": path}
                ran = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE)
                if turn >= 0:  # the first fills the caches
                    samples[form].append(json.loads(ran.stdout.splitlines()[-1]))
    for form, found in samples.items():
        figures = (f"{name} {_figure([one[name] for one in found])}" for name in ("wall", "cpu", "collector"))
        print(f"{form}: {', '.join(figures)}")
    if args.out is not None:
        args.out.write_text(json.dumps(samples, indent=1) + "\n", encoding="utf-8")
    return 0


def _figure(values: list[float]) -> str:
    """The median of the samples, and their range."""
    return f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    sys.exit(main())
