"""Compiled kernels on disk, and the compilation of many kernels at once.

A kernel is stored under the hash of everything that decides it: the TTIR text, the target, the options, the
installed Triton and its settings (`base/triton_environment.py`), and `CACHE_VERSION`. A hit imports neither
Triton nor MLIR. Entries are written whole or not at all, are checked when they are read, and are compiled
again where they do not pass; several processes may share a folder (`runtime/cache`).
"""

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from pathlib import Path

from ...base.dataclass import dataclass
from ...base.timing import expect_stages, stage
from ...base.triton_environment import triton_environment
from ..cache.cache_folder import CacheFolder
from . import triton_compile
from .cubin import CompiledCubin, CompileRequest
from .triton_version import triton_fingerprint

CACHE_VERSION = 2
"""Raise it when the stored form, or the way in which Triton is called, changes."""


Wait = Callable[..., list[CompiledCubin]]
"""What `KernelCache.start` returns."""


@dataclass
class CacheStatistics:
    """What a KernelCache did. hits: kernels read from disk. misses: kernels compiled."""

    hits: int = 0
    misses: int = 0


@dataclass
class KernelCache:
    """The kernels stored in `folder`.

    compiler: compiles a missing kernel; it must be safe to call from several threads.
    toolchain: identifies the compiler in the keys; by default the installed Triton and its settings.
    """

    folder: CacheFolder
    compiler: Callable[[CompileRequest], CompiledCubin] = triton_compile.compile_request
    toolchain: str = field(default_factory=lambda: f"{triton_fingerprint()} {triton_environment()}")
    statistics: CacheStatistics = field(default_factory=CacheStatistics)

    def key(self, request: CompileRequest) -> str:
        """The name of `request` in the cache: 64 hexadecimal digits."""
        return request.key(f"{self.toolchain}/{CACHE_VERSION}")

    def path(self, key: str) -> Path:
        """The file of the kernel named `key`."""
        return self.folder.path(key)

    def lookup(self, request: CompileRequest) -> CompiledCubin | None:
        """The stored kernel. None where there is none, where it is damaged, or where it lacks a text that
        `keep` asks for.
        """
        return self._read(self.key(request), request.keep)

    def load(self, key: str) -> CompiledCubin | None:
        """The stored kernel with that key, as `lookup` returns it."""
        return self._read(key)

    def compile(self, request: CompileRequest) -> CompiledCubin:
        """The kernel, read from disk or else compiled and stored. Raises TritonCompileError."""
        return self.compile_many([request], workers=1)[0]

    def compile_many(
        self, requests: Sequence[CompileRequest], workers: int | None = None
    ) -> list[CompiledCubin]:
        """The kernels of `requests`, in their order. Equal requests are compiled once, missing kernels in
        parallel.

        workers: most threads, by default one per processor. Raises the error of the first request, in their
        order, that fails; kernels that have been compiled by then are stored.
        """
        return self.start(requests, workers)()

    def start(self, requests: Sequence[CompileRequest], workers: int | None = None) -> "Wait":
        """Starts compiling the missing kernels in other threads. Returns a function that takes the numbers of
        some requests, None for all of them, helps with their kernels, waits for these, and returns or raises
        what `compile_many` does.
        """
        keys = [self.key(request) for request in requests]
        wanted: dict[str, CompileRequest] = {}
        for key, request in zip(keys, requests, strict=True):
            wanted[key] = _with_keep_of(request, wanted.get(key))
        done: dict[str, CompiledCubin] = {}
        missing: dict[str, CompileRequest] = {}
        for key, request in wanted.items():
            stored = self._read(key, request.keep)
            if stored is None:
                missing[key] = request
            else:
                done[key] = stored
        self.statistics.hits += len(done)
        self.statistics.misses += len(missing)
        expect_stages("kernel", len(missing))
        finish = self._compile_missing(missing, workers or len(os.sched_getaffinity(0)))

        def wait(numbers: Sequence[int] | None = None) -> list[CompiledCubin]:
            chosen = keys if numbers is None else [keys[number] for number in numbers]
            done.update(finish(missing.keys() & chosen))
            return [done[key] for key in chosen]

        return wait

    def _compile_missing(
        self, missing: dict[str, CompileRequest], workers: int
    ) -> Callable[[Collection[str]], dict[str, CompiledCubin]]:
        if not missing:
            return lambda wanted: {}
        if self.compiler is triton_compile.compile_request:
            triton_compile.import_triton()  # here: in threads, imports may be seen half done
        # The waiting thread is the last worker; until it waits, its core has other work.
        others = max(1, min(workers - 1, len(missing)))
        pool = ThreadPoolExecutor(others, thread_name_prefix="fuse-compile")
        # The longest kernels first, so that no thread is left with one at the end.
        longest = sorted(missing, key=lambda key: len(missing[key].text), reverse=True)
        futures: dict[str, Future[CompiledCubin]] = {
            key: pool.submit(self._compile_and_store, key, missing[key]) for key in longest
        }
        pool.shutdown(wait=False)  # its threads end with the last kernel

        def finish(wanted: Collection[str]) -> dict[str, CompiledCubin]:
            try:
                for key in longest if workers > 1 else ():
                    if key in wanted and futures[key].cancel():  # no thread has begun to compile it
                        futures[key] = self._compile_here(key, missing[key])
                        if futures[key].exception() is not None:
                            break
                return {key: futures[key].result() for key in missing if key in wanted}  # or the first error
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                expect_stages("kernel", -sum(future.cancelled() for future in futures.values()))
                raise

        return finish

    def _compile_here(self, key: str, request: CompileRequest) -> "Future[CompiledCubin]":
        done: Future[CompiledCubin] = Future()
        try:
            done.set_result(self._compile_and_store(key, request))
        except Exception as error:
            done.set_exception(error)
        except BaseException as error:  # also when the user interrupts
            done.set_exception(error)
            raise
        return done

    def _compile_and_store(self, key: str, request: CompileRequest) -> CompiledCubin:
        with stage("kernel", lambda: triton_compile.kernel_name(request.text)):
            kernel = self.compiler(request)
        self.folder.write(key, kernel.to_bytes())
        return kernel

    def _read(self, key: str, keep: Sequence[str] = ()) -> CompiledCubin | None:
        kernel = self.folder.read(key, CompiledCubin.from_bytes)
        return kernel if kernel is not None and all(stage in kernel.texts for stage in keep) else None


def _with_keep_of(request: CompileRequest, other: CompileRequest | None) -> CompileRequest:
    """`request`, with the texts that `other`, a request for the same kernel, keeps added."""
    if other is None:
        return request
    keep = tuple(dict.fromkeys([*other.keep, *request.keep]))
    return CompileRequest(request.text, request.target, request.options, keep)
