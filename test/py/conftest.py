"""What all Python tests share: `gpu` tests are skipped without CUDA, property tests repeat their examples,
and a state of torch that a test begins with.
"""

import gc
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import core, settings
from hypothesis.internal.conjecture import providers

# Every pass is verified in tests, those that run in subprocesses too.
os.environ.setdefault("FUSE_MLIR_VERIFY", "on")

# No deadline: a busy machine is no bug. The examples derive from the test itself, so that every run repeats.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None, derandomize=False, database=None)
settings.load_profile("repeatable")
# Hypothesis also draws numbers that it finds in the sources of the modules loaded so far: other examples for
# each order of tests and each edit. No setting turns it off; `test_repeatable.py` notices if it is renamed.
providers.is_local_module_file = lambda path: False


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--products``: who computes matrix products wherever a test does not say so itself.

    ``--fresh``: other random programs and other examples of property tests, by a number.
    """
    parser.addoption(
        "--products", choices=("auto", "library", "generated"), help="default of the option of that name"
    )
    parser.addoption("--fresh", type=int, metavar="N", help="draw other random programs, those of N")


def pytest_configure(config: pytest.Config) -> None:
    """The environment tells what tests run in subprocesses, too."""
    asked = config.getoption("products")
    if asked is not None:
        os.environ["FUSE_MLIR_PRODUCTS"] = asked
    fresh = config.getoption("fresh")
    if fresh is not None:
        os.environ["FUSE_MLIR_FRESH"] = str(fresh)
        core.global_force_seed = fresh  # what --hypothesis-seed sets
        settings.load_profile("fresh")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """A test marked ``products(value)`` is about that value of the option, whatever ``--products`` says."""
    marked = item.get_closest_marker("products")
    if marked is None:
        return (yield)
    before = os.environ.get("FUSE_MLIR_PRODUCTS")
    os.environ["FUSE_MLIR_PRODUCTS"] = marked.args[0]
    try:
        return (yield)
    finally:
        if before is None:
            del os.environ["FUSE_MLIR_PRODUCTS"]
        else:
            os.environ["FUSE_MLIR_PRODUCTS"] = before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` where there is no CUDA device; imports torch only if there are any."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    for item in marked:
        item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What tests need not wait for: Dynamo flushes the processor's caches for each function that it compiles,
    to time a guard once (26 ms), writes Inductor's settings as JSON, and collects garbage after each;
    AOTAutograd makes six tensors for random numbers that it only functionalizes if asked; the collector looks
    at all of torch again and again.
    """
    guards = sys.modules.get("torch._dynamo.guards")
    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *_: 0.0
    utils = sys.modules.get("torch._dynamo.utils")
    if hasattr(utils, "_scrubbed_inductor_config_for_logging"):
        utils._scrubbed_inductor_config_for_logging = lambda: None
    dynamo = sys.modules.get("torch._dynamo.config")
    if hasattr(dynamo, "run_gc_after_compile"):
        dynamo.run_gc_after_compile = False
    tracker = getattr(sys.modules.get("torch._decomp.decompositions_for_rng"), "PhiloxStateTracker", None)
    if hasattr(tracker, "reset"):
        functorch, reset = sys.modules["torch._functorch.config"], tracker.reset
        reset()
        tracker.reset = lambda: reset() if functorch.functionalize_rng_ops else None
    gc.freeze()
    gc.set_threshold(250_000)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Pytest listens to each logger that does not propagate, so torch would write all that it traces (graphs,
    stacks, sizes) as JSON for it, a tenth of the time of such tests.
    """
    if not os.environ.get("TORCH_TRACE"):
        trace = logging.getLogger("torch.__trace")
        trace.handlers.clear()
        trace.propagate = True


@pytest.fixture
def fresh_dynamo():
    """Nothing compiled before is known, and random numbers are the same each time."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def one_thread():
    """Torch computes in one thread: workers of the test run share the cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def told(caplog, monkeypatch):
    """The messages of our log at level WARNING so far; what is said once of a cache was not said before."""
    from fuse_mlir.compiler.runtime.cache import cache_folder

    def messages() -> list[str]:
        found = [r.getMessage() for r in caplog.records if r.name.startswith("fuse_mlir")]
        assert all("\n" not in message for message in found)
        return found

    monkeypatch.setattr(cache_folder, "_told", set())
    with caplog.at_level(logging.WARNING, logger="fuse_mlir"):
        yield messages
