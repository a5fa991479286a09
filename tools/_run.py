"""The implementation of ``fuse-run``: making or loading inputs, running the module, printing its results.

Inputs are made from the types and facts of the arguments, or loaded by ``--input``.  For a GPU, the module is
first lowered to the planned level if it is not there yet.
"""

import argparse
import pickle
import traceback
from pathlib import Path
from typing import Any

import numpy
import torch

from ..compiler.base.diagnostics import Diagnostics
from ..compiler.ir.context import make_context
from ..compiler.ir.kernel import is_kernel, is_tiled
from ..compiler.mlir import ir
from ..compiler.runtime.checks.made_inputs import InputMaker
from ..compiler.runtime.errors import DeviceAssertError, OutOfBounds, PlanError, RunError
from ..compiler.runtime.interpreter.launchers import interpreted_launchers
from ..compiler.runtime.interpreter.program import InterpretedProgram
from ..compiler.runtime.plans.bound_plan import LaunchPlan
from ..compiler.runtime.plans.extern_function import bind_externs
from ..compiler.runtime.plans.make_plan import make_plan
from ..compiler.runtime.plans.plan import moved
from ..compiler.runtime.rng import RngState
from ..compiler.verifier.verifier import VerificationError
from ..passes.manager import PassManager
from ..passes.pass_base import Pass
from ..passes.pipeline import Settings, default_pipeline
from ._exit import FAILED, USAGE, UsageError, kind_and_text, say, write_out
from ._source import ParseError, Source, check, parse


def run(source: Source, options: argparse.Namespace) -> int:
    """Executes the module in ``source``.  The exit code is 0 when it ran and, with ``--compare``, agreed; 1
    when it did not; 2 where the options make no sense.
    """
    diagnostics = Diagnostics()
    try:
        return _run(_module(source, diagnostics), options)
    except UsageError as error:
        return say(f"fuse-run: error: {error}", USAGE)
    except (ParseError, VerificationError, ir.MLIRError) as error:
        lines = [line for d in diagnostics.items if d.severity != "remark" for line in d.lines(source.name)]
        return say("\n".join(lines) or f"fuse-run: error: {error}", FAILED)
    except (RunError, OutOfBounds, DeviceAssertError, OSError, ValueError) as error:
        return say(f"fuse-run: error: {error}", FAILED)


def _module(source: Source, diagnostics: Diagnostics) -> ir.Module:
    """The verified module of a source.  Errors in it are also added to ``diagnostics``."""
    context = make_context()
    module = parse(source, context, diagnostics)
    check(module, source, diagnostics)
    return module


def _run(module: ir.Module, options: argparse.Namespace) -> int:
    inputs = _inputs(module, options)
    try:
        if options.plan:
            results = _run_plan(module, inputs, options.device)
        elif options.device == "cpu":
            results = InterpretedProgram(module)(inputs)
        else:
            results = _run_on_gpu(module, inputs, options.device)
    except (RunError, UsageError, PlanError, OSError):
        raise
    except Exception as error:  # torch computes the ops and may raise anything
        if options.debug:
            traceback.print_exception(error)
        raise RunError(f"@main cannot be executed: {kind_and_text(error)}") from error
    if options.save:
        _save(results, options.save)
    if options.compare:
        return _compare(results, _read_tensors(options.compare), options)
    with torch.no_grad():
        torch.set_printoptions(profile="full" if options.full else "short")
        for number, result in enumerate(results):
            write_out(f"result {number}: {describe(result)}\n")
    return 0


def _run_on_gpu(module: ir.Module, inputs: list[Any], device: str) -> list[Any]:
    """Lowers the module to the planned level if needed, and launches it; results are copied to the host."""
    from ..compiler.base.options import Options
    from ..compiler.driver.compilation import (
        executable,  # imports torch.compile, which the interpreter does not need
    )
    from ..compiler.runtime.gpu.device_model import hardware_name

    if not torch.cuda.is_available():
        raise UsageError(f"--device {device}: this machine has no CUDA device")
    name = f"cuda:{torch.device(device).index or 0}"
    module.operation.attributes["fuse.device"] = ir.StringAttr.get(name, module.context)
    PassManager(_missing_passes(module, hardware_name(torch.device(name).index))).run(module)
    run = executable(module, {}, Options(), on_gpu=True).run
    results = run([value.to(name) if isinstance(value, torch.Tensor) else value for value in inputs])
    return [r.detach().cpu() if isinstance(r, torch.Tensor) else r for r in results]


def _run_plan(module: ir.Module, inputs: list[Any], device: str) -> list[Any]:
    """Runs the launch plan of a planned module with its kernels, which are interpreted."""
    if device != "cpu":
        raise UsageError("a plan runs with interpreted kernels: --plan goes with --device cpu")
    plan, launchers = moved(make_plan(module), "cpu"), interpreted_launchers(module)
    with torch.no_grad():
        return LaunchPlan.bind(plan, launchers, bind_externs(plan, {}, device), RngState().draw).run(inputs)


def _missing_passes(module: ir.Module, hardware: str) -> list[Pass]:
    """The passes of the default pipeline from the module's level to planned.  They keep every rounding of the
    module, so that a GPU computes what the interpreter does.
    """
    kernels = [op for op in module.body.operations if is_kernel(op)]
    if not kernels:
        return []
    everything, tiled = (
        default_pipeline(level, Settings(hardware, rounding="eager")) for level in ("planned", "tiled")
    )
    return everything[len(tiled) :] if any(is_tiled(k) for k in kernels) else everything


def _inputs(module: ir.Module, options: argparse.Namespace) -> list[Any]:
    sizes: dict[str, int] = {}
    for item in options.size:
        name, equals, value = item.partition("=")
        if not equals or not value.isdecimal():
            raise UsageError(f"--size takes NAME=N, got '{item}'")
        sizes[name] = int(value)
    made = InputMaker(seed=options.seed, sizes=sizes).make(module)
    if len(options.input) > len(made):
        raise UsageError(f"@main takes {len(made)} arguments, {len(options.input)} are given")
    given = [_load(text) for text in options.input]
    return given + made[len(given) :]


def _load(text: str) -> Any:
    suffix = Path(text).suffix
    if suffix == ".pt":
        return _read_tensors(text)
    if suffix == ".npy":
        return torch.from_numpy(numpy.load(text))
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        raise UsageError(f"--input takes a .pt or .npy file or a number, got '{text}'") from None


def _read_tensors(path: str) -> Any:
    try:
        return torch.load(path)
    except (RuntimeError, EOFError, pickle.UnpicklingError):  # an OSError has a clear text itself
        raise UsageError(f"'{path}' is not a file that torch.save wrote") from None


def _save(results: list[Any], path: str) -> None:
    try:
        torch.save(results, path)
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError if the folder does not exist
        raise UsageError(f"cannot write '{path}': {error}") from None


def _compare(results: list[Any], expected: Any, options: argparse.Namespace) -> int:
    if not isinstance(expected, list):
        held = type(expected).__name__
        raise UsageError(f"{options.compare} holds a {held}, not the list of results that --save writes")
    if len(results) != len(expected):
        raise UsageError(f"{len(results)} results, but {options.compare} has {len(expected)}")
    agree = True
    for number, (got, wanted) in enumerate(zip(results, expected, strict=True)):
        same = got == wanted
        if isinstance(got, torch.Tensor):
            tolerance = (
                {"rtol": options.rtol, "atol": options.atol}
                if got.dtype.is_floating_point
                else {"rtol": 0.0, "atol": 0.0}
            )
            same = (
                isinstance(wanted, torch.Tensor)
                and got.shape == wanted.shape
                and got.dtype == wanted.dtype
                and torch.allclose(got, wanted, equal_nan=True, **tolerance)
            )
        differs = f"differs: got {describe(got)}, expected {describe(wanted)}"
        write_out(f"result {number}: {'agrees' if same else differs}\n")
        agree &= bool(same)
    return 0 if agree else 1


def describe(value: Any) -> str:
    """A result in a few lines: type, shape, range, elements."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    head = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} strides {list(value.stride())}"
    if value.numel() and value.dtype.is_floating_point:
        wide = value.double()
        head += f" min {wide.min():.6g} max {wide.max():.6g} mean {wide.mean():.6g}"
    return f"{head}\n{value}"
