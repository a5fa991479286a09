"""TTIR text to cubin through Triton's own stages: parse, ttir, ttgir, llir, ptx, cubin.

Triton is imported when the first kernel is compiled. Each compile has its own MLIR context, and Triton
releases the GIL in every stage, so threads compile in parallel.

The text is the generic form that `codegen` prints, with an explicit `loc(...)` on each operation; an
operation without one is located in the text itself. Triton parses files only, so the text travels in an
anonymous memory file.

Libdevice. Triton parses and links it, which takes 25 ms, where a kernel declares any function: one of
libdevice, but also the driver's `__assertfail`. A kernel whose text names none of libdevice's functions is
compiled without it, and again with it where its LLVM IR calls one nevertheless.

Diagnostics. Triton gives Python no way to receive MLIR's diagnostics: they are written to file descriptor 2.
The parser, whose verifier catches nearly every mistake, runs under a lock with that descriptor captured, so
its diagnostics are in the error and not on the terminal. The later stages take far longer and run in
parallel: where one fails, the compile is repeated once under the capture to learn why, at the price of a
first copy on stderr.
"""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...base.triton_text import captured_stderr, first_error, memory_file, without_file
from .cubin import STAGES, CompiledCubin, CompileOptions, CompileRequest, Target, ptx_params
from .triton_version import triton_dialect
from .wgmma_descriptors import added_in_halves

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PTXAS = re.compile(
    r"^ptxas[\w-]*\s+(?:\S+,\s+line\s+(?P<line>\d+);\s+)?(?:error|fatal)\s*:\s*(?P<message>.+)$", re.MULTILINE
)


#: What Triton takes from libdevice: functions by name, all that is f64, and ops of `math` except for three.
_LIBDEVICE = re.compile(r"__nv_|\bf64\b|\bmath\.(?!absf\b|exp\b|fma\b)")


class TritonCompileError(RuntimeError):
    """Triton failed to compile a kernel.

    kernel: its name. stage: which of `STAGES` failed, or "name" for a name that cannot be compiled.
    diagnostic: the message of the first diagnostic. location: where it points, "" where unknown;
    "ttir:LINE:COLUMN" is in the kernel's own text. details: the whole output.
    """

    def __init__(
        self, kernel: str, stage: str, diagnostic: str, location: str = "", details: str = ""
    ) -> None:
        where = f" at {location}" if location else ""
        super().__init__(f"kernel '{kernel}' failed to compile in stage '{stage}'{where}: {diagnostic}")
        self.kernel = kernel
        self.stage = stage
        self.diagnostic = diagnostic
        self.location = location
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kernel, self.stage, self.diagnostic, self.location, self.details)


def import_triton() -> None:
    """Imports what the stages need. Without this call, the first compile does it."""
    import triton.backends.compiler
    import triton.compiler.compiler  # noqa: F401


def compile_ttir(
    text: str,
    *,
    target: Target,
    num_warps: int,
    num_stages: int = 3,
    num_ctas: int = 1,
    maxnreg: int | None = None,
    enable_fp_fusion: bool = True,
    keep: tuple[str, ...] = (),
) -> CompiledCubin:
    """Compile one kernel: `compile_request` with the request's fields as keywords."""
    options = CompileOptions(num_warps, num_stages, num_ctas, maxnreg, enable_fp_fusion)
    return compile_request(CompileRequest(text, target, options, keep))


def compile_request(request: CompileRequest) -> CompiledCubin:
    """Run all of Triton's stages on `request`, uncached.

    Raises TritonCompileError, naming the kernel, the stage and the first diagnostic.
    """
    job = _Job(request, kernel_name(request.text))
    try:
        return job.compile()
    except _StageFailed as failure:
        raise _explain(job, failure) from failure.cause


def kernel_name(text: str) -> str:
    """The name of the public function in TTIR `text`, in generic or in Triton's custom form.

    Raises TritonCompileError where there is not exactly one, or where a function's name is no ASCII
    identifier: Triton would abort the whole process on it.
    """
    functions = list(_functions(text))
    for name, _ in functions:
        if not _IDENTIFIER.fullmatch(name):
            raise TritonCompileError(name, "name", "a function's name must match [A-Za-z_][A-Za-z0-9_]*")
    public = [name for name, is_public in functions if is_public]
    if len(public) != 1:
        found = ", ".join(public) or "none"
        raise TritonCompileError(
            public[0] if public else "?", "name", f"a module must have one public function, found {found}"
        )
    return public[0]


class _StageFailed(Exception):
    """A stage raised `cause`. `said` is what was captured from file descriptor 2, if it was captured."""

    def __init__(self, stage: str, cause: BaseException, said: str) -> None:
        super().__init__(stage)
        self.stage = stage
        self.cause = cause
        self.said = said


class _Job:
    """One request on its way through Triton's stages."""

    def __init__(self, request: CompileRequest, name: str) -> None:
        self.request = request
        self.name = name
        self.linked = _LIBDEVICE.search(request.text) is not None
        self.products: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.timings: dict[str, float] = {}
        self.metadata: dict[str, Any] = {}

    def compile(self) -> CompiledCubin:
        """Runs every stage, the parser under the capture. Raises _StageFailed."""
        if not self._run_stages():
            self.linked = True
            self._run_stages()
        return self._compiled()

    def _run_stages(self) -> bool:
        """Whether all stages ran: not where the LLVM IR calls libdevice, which is not linked."""
        stages, parse = self._begin()
        with captured_stderr() as captured:
            product = self._run("parse", parse, captured)
        for stage, make in stages.items():
            product = self._run(stage, partial(make, product, self.metadata))
            if stage == "ptx":
                product = added_in_halves(product)
            if stage in self.request.keep:
                self.texts[stage] = str(product)
            self.products[stage] = product
            if stage == "llir" and not self.linked and "@__nv_" in product:
                return False
        return True

    def _compiled(self) -> CompiledCubin:
        ptx: str = self.products["ptx"]
        return CompiledCubin(
            name=self.metadata["name"],
            arch=self.request.target.arch,
            cubin=self.products["cubin"],
            ptx=ptx,
            params=ptx_params(ptx),
            shared=self.metadata["shared"],
            num_warps=self.metadata["num_warps"],
            num_ctas=self.metadata["num_ctas"],
            global_scratch_size=self.metadata.get("global_scratch_size") or 0,
            profile_scratch_size=self.metadata.get("profile_scratch_size") or 0,
            timings_ms=self.timings,
            texts=self.texts,
        )

    def repeat(self, last: str, captured: Callable[[], str]) -> None:
        """Runs the stages up to `last` once more, while file descriptor 2 is captured. Raises
        _StageFailed.
        """
        stages, parse = self._begin()
        product = self._run("parse", parse, captured)
        for stage, make in stages.items():
            product = self._run(stage, partial(make, product, self.metadata), captured)
            if stage == last:
                return

    def _begin(self) -> tuple[dict[str, Callable[[Any, dict[str, Any]], Any]], Callable[[], Any]]:
        """Triton's stages, and what parses the text in a context of their own."""
        from triton._C.libtriton import ir

        backend = self._backend()
        return self._stages(backend), partial(self._parse, ir, self._context(ir, backend))

    def _backend(self) -> Any:
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import make_backend

        target = self.request.target
        return make_backend(GPUTarget(target.backend, target.arch, target.warp_size))

    def _stages(self, backend: Any) -> dict[str, Callable[[Any, dict[str, Any]], Any]]:
        from triton import knobs
        from triton.backends.compiler import Language

        arch = f"sm{self.request.target.arch}"
        given = {name: value for name, value in vars(self.request.options).items() if value is not None}
        # The backend's own default is what the variable held when Triton was imported; keys hold today's.
        given["ptx_options"] = knobs.nvidia.ptxas_options or ""  # None asks for the default
        options = backend.parse_options(given)
        if options.arch != arch:
            raise TritonCompileError(
                self.name, "options", f"the environment overrides {arch} by {options.arch}"
            )
        stages: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
        backend.add_stages(stages, options, Language.TRITON)
        if tuple(stages) != STAGES[1:]:
            found = ", ".join(stages)
            raise TritonCompileError(self.name, "options", f"stages are {found}, not {', '.join(STAGES[1:])}")
        if not self.linked:
            object.__setattr__(options, "extern_libs", ())  # it is frozen, and made anew for each kernel
        self.metadata = {"target": backend.target, **vars(options)}
        return stages

    def _context(self, ir: Any, backend: Any) -> Any:
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        return context

    def _parse(self, ir: Any, context: Any) -> Any:
        with memory_file(triton_dialect().spelled(self.request.text)) as path:
            module = ir.parse_mlir_module(path, context)
        module.context = context  # the stages look it up there, and the module keeps it alive
        return module

    def _run(self, stage: str, make: Callable[[], Any], captured: Callable[[], str] = lambda: "") -> Any:
        started = time.perf_counter()
        try:
            product = make()
        except Exception as cause:
            raise _StageFailed(stage, cause, captured()) from cause
        self.timings[stage] = (time.perf_counter() - started) * 1e3
        return product


def _explain(job: _Job, failure: _StageFailed) -> TritonCompileError:
    """The error to raise for `failure`. Where MLIR has written to stderr, the stages are repeated under the
    capture.
    """
    if failure.stage in ("ttir", "ttgir", "llir"):
        with captured_stderr() as captured:
            try:
                _Job(job.request, job.name).repeat(failure.stage, captured)
            except _StageFailed as again:
                failure = again
    reason = str(failure.cause).strip()
    details = without_file(failure.said or reason)
    ptxas = _PTXAS.search(reason)
    if ptxas is not None:
        location = f"ptx:{ptxas['line']}" if ptxas["line"] else ""
        return TritonCompileError(job.name, failure.stage, ptxas["message"].strip(), location, details)
    said = first_error(details)
    if said is not None:
        location, message = said
        return TritonCompileError(job.name, failure.stage, message, location, details)
    first = reason.splitlines()[0] if reason else type(failure.cause).__name__
    return TritonCompileError(job.name, failure.stage, first, "", details)


_GENERIC_NAME = re.compile(r'\bsym_name\s*=\s*"((?:[^"\\]|\\.)*)"')
_CUSTOM_NAME = re.compile(r'\btt\.func\s+(public\s+|private\s+|nested\s+|)@(?:"([^"]*)"|([\w.$-]+))')


def _functions(text: str) -> Iterator[tuple[str, bool]]:
    """(name, is it public) of each function in `text`, in order of appearance of its name."""
    for match in _CUSTOM_NAME.finditer(text):
        yield match[2] if match[2] is not None else match[3], match[1].strip() in ("", "public")
    for match in _GENERIC_NAME.finditer(text):
        attributes = _enclosing_braces(text, match.start())
        if "function_type" in attributes:  # a module has a name too, but no type
            yield match[1], not re.search(r'\bsym_visibility\s*=\s*"(?:private|nested)"', attributes)


def _enclosing_braces(text: str, at: int) -> str:
    """The attribute dictionary of `text` around position `at`: from its opening to its closing brace."""
    depth, start = 0, at
    while start > 0 and depth >= 0:
        start -= 1
        depth += {"}": 1, "{": -1}.get(text[start], 0)
    depth, end = 0, at
    while end < len(text) and depth >= 0:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start:end]
