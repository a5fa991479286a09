"""Entries of every suffix, damaged, foreign and old: each is a miss with one line in the log."""

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from cached_files import KEYS
from stored_programs import compiled, entries

from fuse_mlir.compiler.analysis.fusion.measured import Measurement, measurements_text
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.base.pointer_effects import PointerEffects
from fuse_mlir.compiler.driver.program_cache import ProgramCache
from fuse_mlir.compiler.driver.searches.fusion_search import _stored_pair
from fuse_mlir.compiler.driver.searches.tiling_search import _stored_tile
from fuse_mlir.compiler.frontend.autograd.step_data import Look, TrainingStep
from fuse_mlir.compiler.frontend.user_kernels.facts import UserKernelFacts, facts_bytes, read_facts
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.tile import Axis, Tile
from fuse_mlir.compiler.runtime.cache.cache_contents import SUFFIXES
from fuse_mlir.compiler.runtime.cache.places import cache_folder
from fuse_mlir.compiler.runtime.gpu.load import kernel_cache

FACTS = UserKernelFacts({"x": PointerEffects(read=True), "out": PointerEffects(written=True)}, False)
TILE = Tile((Axis(("d0",), 64, "grid"),), 4)


def shifted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """As many arguments as results: its program can stand for both graphs of a training step."""
    return x.relu() + 1


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Options of a folder with entries of every suffix."""
    folder = tmp_path_factory.mktemp("cache")
    program = compiled(folder, shifted).key
    given = Options(cache_dir=folder)
    look = Look((6, 24), (24, 1), "float32", "cpu")
    step = TrainingStep((look,), (True,), (), (), (look,))
    ProgramCache(given).link_training(KEYS[1], step, str(program), str(program))
    cache_folder(given, ".facts").write(KEYS[2], facts_bytes(FACTS))
    cache_folder(given, ".fusion").write(KEYS[2], measurements_text({"pair": Measurement("slower")}).encode())
    with make_context():
        cache_folder(given, ".tile").write(KEYS[2], str(TILE.attribute()).encode())
    return given


def readers(options: Options) -> dict[str, Callable[[str], Any]]:
    """What reads the entries of each suffix, from the key to what is stored or None."""
    programs = ProgramCache(options)
    return {
        ".captured": lambda key: programs.read_captured(key, 1),
        ".facts": lambda key: cache_folder(options, ".facts").read(key, read_facts),
        ".fusion": lambda key: cache_folder(options, ".fusion").read(key, lambda d: _stored_pair(d, "pair")),
        ".kernel": kernel_cache(options).load,
        ".program": lambda key: programs.read(key, 1),
        ".tile": lambda key: cache_folder(options, ".tile").read(key, lambda d: _stored_tile(d, [TILE])),
        ".trained": programs.read_training,
    }


def damaged(right: bytes, others: list[bytes], draw: random.Random) -> Iterator[bytes]:
    """Bytes that are another entry's, older, or differ from the right ones somewhere."""
    yield b""
    yield from others
    body = right[right.index(b"\n", 43) + 1 :]
    for magic in (b"FUSECUBIN1\n", b"FUSEPROGRAM1\n"):
        yield magic + hashlib.sha256(body).digest() + body
    yield body
    yield right + right
    for _ in range(12):
        place, end = sorted(draw.randrange(len(right)) for _ in range(2))
        flipped = bytearray(right)
        flipped[place] ^= 1 << draw.randrange(8)
        yield bytes(flipped)
        yield right[:place]
        yield right[:place] + right[end + 1 :]
        yield right[:place] + draw.randbytes(draw.randrange(1, 9)) + right[place:]
        yield draw.randbytes(draw.randrange(1, 200))
        yield right[:43] + draw.randbytes(draw.randrange(200))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_entry_is_a_miss_with_a_line_in_the_log(suffix: str, options: Options, told: Any) -> None:
    paths: list[Path] = [entries(Path(str(options.cache_dir)), s)[0] for s in SUFFIXES]
    [path] = [p for p in paths if p.suffix == suffix]
    right, read = path.read_bytes(), readers(options)[suffix]
    with make_context():
        assert read(path.stem) is not None and told() == []
        tried = 0
        try:
            for wrong in damaged(right, [p.read_bytes() for p in paths if p != path], random.Random(suffix)):
                path.write_bytes(wrong)
                tried += 1
                assert read(path.stem) is None
                assert len(told()) == tried
        finally:
            path.write_bytes(right)
        assert read(path.stem) is not None
    start = f"the cache entry {path.name} is unreadable and will be made again: it"
    assert tried > 70 and all(line.startswith(start) for line in told())
