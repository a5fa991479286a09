"""The TTIR of a user's Triton kernel: Triton's front end, for a given target, without a GPU.

What Triton does at a launch is done here from descriptions of the arguments: integers equal to 1 and None
become constants, addresses and integers that 16 divides say so.  Calls are inlined, block pointers become
pointers, and the text is simplified by Triton's own canonicalizer and CSE, so that a kernel is one function.
"""

import threading
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...base.dataclass import dataclass
from ...base.triton_environment import triton_environment
from ...ir.dialects.tt_text import mirrored
from .argument_kinds import DescriptorKind, NumberKind, PointerKind, debugging


class UserKernelError(Exception):
    """Triton's front end refuses a kernel.  The message names the kernel and says what Triton said."""


class StaticAssertFailed(UserKernelError):
    """A ``tl.static_assert`` of a kernel fails for the constants that are given.  An autotuner of Triton's
    passes over such a configuration.
    """


@dataclass(frozen=True)
class KernelTtir:
    """A kernel as TTIR.

    name: the symbol of its function.  arguments: for each argument of that function the kernel's parameter;
    a descriptor is followed by its sizes and strides, which are named ``x.shape0`` and ``x.stride0``.
    text: a module in the generic form, as ``ir/dialects/tt.py`` spells it.
    constants: the parameters that became constants.  options: those of the launch that were given
    (``num_warps``, ``num_stages``, ..).
    """

    name: str
    arguments: tuple[str, ...]
    text: str
    constants: Mapping[str, Any] = field(compare=False)
    options: Mapping[str, Any] = field(compare=False)


#: Texts by what they depend on: a model launches one kernel in many places.
_TEXTS: dict[Any, tuple[str, tuple[str, ...], str]] = {}
_MOST_TEXTS = 1024
#: Triton's front end reads and writes state of the kernels' Python functions.
_LOCK = threading.RLock()


def ttir_of(kernel: Any, arguments: Mapping[str, Any], *, capability: int = 90) -> KernelTtir:
    """The TTIR of ``kernel``, a ``triton.JITFunction`` (not an autotuner: a configuration's values are
    arguments here).

    arguments: for each parameter a ``PointerKind``, ``NumberKind`` or ``DescriptorKind``, or a Python value,
    from which Triton specialises as it would at a launch; also the launch's options.  A parameter that is
    left out has its default.  capability: 90 is sm_90.  Raises UserKernelError.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource, make_backend
    from triton.runtime.jit import JITFunction

    if not isinstance(kernel, JITFunction):
        raise UserKernelError(f"expected a function under @triton.jit, got {type(kernel).__name__}")
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    given = {name: value for name, value in arguments.items() if name not in kernel.arg_names}
    debug = bool(given.get("debug", kernel.debug)) or debugging()
    options = backend.parse_options({**given, "debug": debug})
    unknown = [name for name in given if name not in options.__dict__]
    if unknown:
        raise UserKernelError(f"kernel '{kernel.__name__}' has no parameter '{unknown[0]}'")
    signature, constants, attributes, names = _specialised(kernel, backend, arguments)
    named = {kernel.arg_names[place]: value for (place,), value in constants.items()}
    key = _key(kernel, signature, constants, attributes, options, capability)
    with _LOCK:
        if key in _TEXTS:
            return KernelTtir(*_TEXTS[key], named, given)
        try:
            source = ASTSource(kernel, signature, constants, attributes)
            module = _module(source, backend, options, target)
            name = module.get_entry_func_name()
            text = generic_text(module)
        except Exception as error:  # Triton's errors have no common class
            kind = StaticAssertFailed if _asserts(error) else UserKernelError
            raise kind(f"kernel '{kernel.__name__}': {_said(error)}") from error
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        _TEXTS[key] = name, names, mirrored(text)
        return KernelTtir(*_TEXTS[key], named, given)


def _key(kernel: Any, signature: Any, constants: Any, attributes: Any, options: Any, capability: int) -> Any:
    """What a text depends on.  1, 1.0 and True are equal for Python and not for Triton."""
    values = tuple((n, type(v), getattr(v, "cache_key", None) or repr(v)) for n, v in constants.items())
    promised = tuple(attributes)
    called = tuple(signature.items()), values, promised, str(options), capability
    return kernel.cache_key, triton_environment(), *called


def _asserts(error: BaseException | None) -> bool:
    """Whether an error of Triton's comes from a ``tl.static_assert``, of the kernel or of what it calls."""
    if error is None:
        return False
    return type(error).__name__ == "CompileTimeAssertionFailure" or _asserts(error.__cause__)


def _said(error: Exception) -> str:
    """What Triton says, without the excerpt of the source above it and below."""
    message = getattr(error, "error_message", None) or str(error)
    node = getattr(error, "node", None)
    line = getattr(node, "lineno", None)
    at = "" if line is None else f"line {line} of the kernel: "
    return at + " ".join(str(message).split())


def _specialised(kernel: Any, backend: Any, arguments: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The signature, the constants, the attributes and the names of what the function takes."""
    from triton.runtime.jit import native_specialize_impl

    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    names: list[str] = []
    for parameter in kernel.params:
        name, place = parameter.name, (parameter.num,)
        if name in arguments:
            value = arguments[name]
        elif parameter.has_default:
            value = parameter.default
        else:
            raise UserKernelError(f"kernel '{kernel.__name__}' is not given '{name}'")
        promised = False
        align = not (parameter.do_not_specialize or parameter.do_not_specialize_on_alignment)
        if parameter.is_constexpr or value is None:
            kind = "constexpr"
            constants[place] = value
        elif isinstance(value, PointerKind):
            kind = f"*{'k' if parameter.is_const else ''}{value.dtype}"
            promised = value.aligned and align
        elif isinstance(value, NumberKind):
            kind = parameter.annotation_type or value.type
            promised = value.divisible and align
        elif isinstance(value, DescriptorKind):
            kind = f"tensordesc<{value.dtype}{list(value.block)}>"
        else:
            specialise = not parameter.do_not_specialize
            try:
                kind, key = native_specialize_impl(type(backend), value, False, specialise, align)
            except Exception:
                raise UserKernelError(
                    f"kernel '{kernel.__name__}' is given {type(value).__name__} for '{name}'"
                ) from None
            kind, promised = parameter.annotation_type or kind, key == "D"
            if kind == "constexpr":
                constants[place] = value
        signature[name] = kind
        if promised:
            attributes[place] = [["tt.divisibility", 16]]
        if kind != "constexpr":
            names.append(name)
        if isinstance(value, DescriptorKind):
            rank = range(len(value.block))
            names += [f"{name}.shape{n}" for n in rank] + [f"{name}.stride{n}" for n in rank]
    return signature, constants, attributes, tuple(names)


def _module(source: Any, backend: Any, options: Any, target: Any) -> Any:
    """The module that Triton makes of ``source``, with one function."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
    module.context = context
    simplify(module)
    return module


def simplify(module: Any) -> None:
    """Inlines all calls in a module of Triton's, and runs its canonicalizer and CSE."""
    from triton._C.libtriton import ir, passes

    context = module.context
    called: list[str] = []

    def visit(op: Any) -> None:
        if op.get_name() == "tt.func":
            called.append(op.get_str_attr("sym_name"))

    module.walk(visit)
    inlined = ir.builder(context).get_bool_attr(False)
    for name in called:
        module.get_function(name).set_attr("noinline", inlined)
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # newer front ends make no block pointers
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "user_kernel")


def generic_text(module: Any) -> str:
    """A module of Triton's in MLIR's generic form, with locations.

    Triton cannot be asked for that form.  MLIR prints an op that fails to verify in it, and a module fails
    with an attribute that has no prefix.
    """
    from triton._C.libtriton import ir

    module.set_attr("__generic", ir.builder(module.context).get_int32_attr(0))
    text = str(module)
    if '"builtin.module"() (' not in text:
        raise AssertionError("Triton prints a module with a wrong attribute in its own form")
    return text.replace("{__generic = 0 : i32}", "")


__all__ = ["KernelTtir", "StaticAssertFailed", "UserKernelError", "generic_text", "simplify", "ttir_of"]
