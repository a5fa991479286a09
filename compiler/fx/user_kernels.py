"""A user's Triton kernel in an FX graph: which function is launched, with which arguments, and how.

Dynamo and ``torch.library.wrap_triton`` make a node of a launch,

    triton_kernel_wrapper_mutation(kernel_idx=3, constant_args_idx=1, grid=[(8, 1, 1)],
                                   tma_descriptor_metadata={}, kwargs={"x": x, "y": y})

and AOTAutograd makes it functional (``triton_kernel_wrapper_functional``, which returns copies of the tensors
that it names in ``tensors_to_clone``).  The indices are entries of a table of this process.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from torch import SymInt
from torch._ops import HigherOrderOperator
from torch.fx import Node, map_arg

from ..base.dataclass import dataclass
from ..base.ttir_function import TtirFunction
from .new_node import WRITES

#: The higher-order ops that launch a user's kernel.
LAUNCHES = ("triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation")
#: What Triton launches with unless the launch or the configuration says otherwise.
_DEFAULTS: dict[str, Any] = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
#: Options of a launch that say what holds without them, as generators of kernels pass them.
_WITHOUT_EFFECT: dict[str, Any] = {"launch_cooperative_grid": False, "launch_pdl": False, "ptx_options": None}


class Opaque(Exception):
    """Why a user's kernel cannot enter the module, in a few words; torch launches it."""


@dataclass(frozen=True)
class UserLaunch:
    """A launch of one kernel.

    function: Triton's ``JITFunction``, or a ``TtirFunction``.  given: parameter -> FX node, SymInt, number or
    other constant, for every parameter of the function.  grid: three extents.  written: the parameters whose
    tensors it writes, in order; None before AOTAutograd.  others: the same launch with each further
    configuration of an autotuner.  tuned_by: the parameters by whose values the autotuner chooses.
    descriptors: the parameters that are given as descriptors of their tensors, and the shapes of the tiles.
    """

    function: Any
    given: Mapping[str, Any]
    grid: tuple[Any, Any, Any]
    written: tuple[str, ...] | None
    num_warps: int
    num_stages: int
    others: tuple["UserLaunch", ...] = ()
    tuned_by: tuple[str, ...] = ()
    descriptors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.__name__)

    @property
    def line(self) -> tuple[str, int]:
        """The file and the line where the function is written."""
        if isinstance(self.function, TtirFunction):
            return self.function.line
        return str(self.function.fn.__code__.co_filename), int(self.function.fn.__code__.co_firstlineno)

    def line_of(self, error: Any) -> int:
        """The line of the file that an error of Triton's is about, which counts from ``def``."""
        above = next(
            (n for n, text in enumerate(self.function.raw_src) if text.strip().startswith("def ")), 0
        )
        return int(self.function.starting_line_number) + above + getattr(error.node, "lineno", 1) - 1

    @property
    def constants(self) -> dict[str, Any]:
        """The values of the parameters that Triton compiles in: ``tl.constexpr``, and what is None."""
        return {
            p.name: self.given[p.name]
            for p in self.function.params
            if p.is_constexpr or self.given[p.name] is None
        }


def is_launch(node: Node) -> bool:
    """Whether a node launches a user's kernel."""
    return isinstance(node.target, HigherOrderOperator) and node.target.name() in LAUNCHES


def launch_of(node: Node) -> UserLaunch:
    """What a node launches: with the first configuration, where there are several.  Raises Opaque for a
    launch that is more than compiled kernels: hooks, options that the launcher does not have, descriptors.
    """
    kernel, constants = _entries(node)
    descriptors = _descriptors(node)
    given = {**node.kwargs["kwargs"], **constants}  # type: ignore[dict-item]
    grids: Any = node.kwargs["grid"]
    if not hasattr(kernel, "configs"):
        if len(grids) != 1:
            raise Opaque("it has several grids")
        return replace(_configured(node, kernel, given, dict(_DEFAULTS), grids[0]), descriptors=descriptors)
    _require_plain(kernel)
    grids = list(grids) * len(kernel.configs) if len(grids) == 1 else grids
    if len(grids) != len(kernel.configs):
        raise Opaque(f"it has {len(grids)} grids for {len(kernel.configs)} configurations")
    first, *others = [
        _configured(
            node, kernel.fn, {**given, **c.kwargs}, {name: getattr(c, name) for name in _DEFAULTS}, grid
        )
        for c, grid in zip(kernel.configs, grids, strict=True)
    ]
    tuned_by = tuple(name for name in kernel.keys if name in first.given)
    others = [replace(each, descriptors=descriptors) for each in others]
    return replace(first, others=tuple(others), tuned_by=tuned_by, descriptors=descriptors)


def tuned_configurations(node: Node) -> tuple[str, tuple[str, int], int]:
    """Of the kernel that a node launches: the function's name, its file and line, and over how many
    configurations it is tuned (1 without an autotuner).  Of opaque launches too.
    """
    kernel, _ = _entries(node)
    count = 1
    while hasattr(kernel, "fn"):  # autotuners and heuristics around a JITFunction, and the function in it
        count = max(count, len(getattr(kernel, "configs", ())))
        kernel = kernel.fn
    code = kernel.__code__
    return str(kernel.__name__), (str(code.co_filename), int(code.co_firstlineno)), count


def _descriptors(node: Node) -> dict[str, tuple[int, ...]]:
    """The parameters that are given as descriptors.  Raises Opaque for those of Triton's older interface."""
    metadata: Any = node.kwargs["tma_descriptor_metadata"] or {}
    if any(kind != "stable" for kind, _ in metadata.values()):
        raise Opaque("it takes a tensor descriptor of Triton's older interface")
    return {name: tuple(int(n) for n in block[0]) for name, (_, block) in metadata.items()}


def _require_plain(tuner: Any) -> None:
    """Raises Opaque for an autotuner that runs functions of the user's beside the kernel, or that resets
    memory between launches.  With one configuration it does neither, but for the configuration's own hook.
    """
    if not tuner.configs:
        raise Opaque("it is tuned over no configurations")
    if any(config.pre_hook is not None for config in tuner.configs):
        raise Opaque("its configuration has a hook")
    if len(tuner.configs) == 1:
        return
    if any(getattr(tuner, f"user_defined_{when}_hook", None) for when in ("pre", "post")):
        raise Opaque("its autotuner has a hook")
    if getattr(tuner, "restore_value", None) or getattr(tuner, "reset_to_zero", None):
        raise Opaque("its autotuner resets what the kernel writes")
    if tuner.early_config_prune is not None or tuner.perf_model is not None:
        raise Opaque("its autotuner leaves out configurations by a function of the user's")


def _configured(
    node: Node, kernel: Any, given: dict[str, Any], options: dict[str, Any], grid: Any
) -> UserLaunch:
    """The launch of a kernel with one configuration.  ``options``: those of the configuration."""
    if not hasattr(kernel, "cache_key") or not hasattr(kernel, "params"):
        raise Opaque(f"it is a {type(kernel).__name__}")
    for param in kernel.params:
        if param.name not in given and not param.has_default:
            raise Opaque(f"its parameter '{param.name}' has no value")
        given.setdefault(param.name, param.default)
    names = [param.name for param in kernel.params]
    options |= {name: given.pop(name) for name in list(given) if name in options and name not in names}
    unknown = [name for name in with_effect(given) if name not in names]
    if unknown:
        raise Opaque(f"the launch has the option '{unknown[0]}'")
    if options["num_ctas"] != 1 or options["maxnreg"] is not None:
        raise Opaque("it asks for a cluster of blocks or a limit of registers")
    x, y, z = (*grid, 1, 1)[:3]
    return UserLaunch(
        kernel,
        {name: given[name] for name in names},
        (x, y, z),
        _written(node),
        int(options["num_warps"]),
        int(options["num_stages"]),
    )


def with_effect(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a launch without those that say what holds anyway."""
    return {n: v for n, v in options.items() if n not in _WITHOUT_EFFECT or v is not _WITHOUT_EFFECT[n]}


def is_narrow(value: Any) -> bool:
    """Whether an int, SymInt or node of one is passed in 32 bits, as Triton passes an integer that fits.  A
    size is asked for a guard that it does; one that only data decides is taken to be wide.
    """
    value = value.meta.get("val") if isinstance(value, Node) else value
    if isinstance(value, SymInt) and not value.node.has_hint():
        return False
    return bool(value >= -(2**31)) and bool(value < 2**31)


def is_multiple(value: Any) -> bool:
    """Whether 16 divides a SymInt or a node of one, as Triton asks of an integer at each launch.  Where it
    divides the example, the size is asked for a guard that it does.
    """
    value = value.meta.get("val") if isinstance(value, Node) else value
    if not isinstance(value, SymInt) or not value.node.has_hint() or value.node.hint % 16:
        return False
    return bool(value % 16 == 0)


def key_of(node: Node) -> str:
    """What of a launch the node's arguments do not say, as text that is equal in every process.  Raises
    Opaque.
    """
    launch = launch_of(node)
    texts = [_configuration_text(node, each) for each in (launch, *launch.others)]
    return " | ".join([*texts, *launch.tuned_by])


def _configuration_text(node: Node, launch: UserLaunch) -> str:
    _, constants = _entries(node)
    numbers = {n: constant_text(v) for n, v in constants.items() if n not in launch.constants}
    return f"{launch_text(launch)} {numbers}"


def launch_text(launch: UserLaunch) -> str:
    """A launch without its tensors and numbers: the source of the function and of all that it calls, the
    options, the constants, which sizes are passed in 32 bits, and which 16 divides.  Raises Opaque.
    """
    sizes = [(is_narrow(v), is_multiple(v)) for v in launch.given.values() if _is_size(v)]
    texts = {name: constant_text(value) for name, value in launch.constants.items()}
    parameters = [(p.name, p.do_not_specialize, p.annotation) for p in launch.function.params]
    return (
        f"{launch.function.cache_key} {launch.line} {launch.num_warps} {launch.num_stages} {launch.written} "
        f"{parameters} {texts} {sizes} {_debug(launch.function)} {dict(launch.descriptors)}"
    )


def _is_size(value: Any) -> bool:
    return isinstance(value.meta.get("val") if isinstance(value, Node) else value, SymInt)


def constant_text(value: Any) -> str:
    """A constant as text.  A ``JITFunction`` is its source; raises Opaque for what has no text."""
    if hasattr(value, "cache_key"):
        return str(value.cache_key)
    if isinstance(value, (int, float, bool, str, type(None))):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(constant_text, value))})"
    if type(value).__module__.startswith("triton.language"):
        return str(value)
    raise Opaque(f"a constant is a {type(value).__name__}")


def _debug(function: Any) -> bool:
    """Whether Triton's front end keeps the assertions of the function."""
    from triton import knobs

    return bool(function.debug or knobs.runtime.debug)


def launched_with(node: Node) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The kernel of a launch, an autotuner perhaps; what it is given, with values for nodes; and torch's
    metadata of descriptors.  Of opaque launches too.
    """
    kernel, constants = _entries(node)
    given: Any = map_arg(node.kwargs["kwargs"], lambda value: value.meta["val"])
    metadata: Any = node.kwargs["tma_descriptor_metadata"] or {}
    return kernel, {**given, **constants}, metadata


def _entries(node: Node) -> tuple[Any, dict[str, Any]]:
    """The kernel and the constants of a node, from torch's tables."""
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    kernel = kernel_side_table.get_kernel(node.kwargs["kernel_idx"])  # type: ignore[arg-type]
    constants = kernel_side_table.get_constant_args(node.kwargs["constant_args_idx"])  # type: ignore[arg-type]
    return kernel, constants


def _written(node: Node) -> tuple[str, ...] | None:
    """The parameters that a launch writes: torch's analysis, as AOTAutograd or ``mutating-calls`` recorded
    it.
    """
    given: Mapping[str, Any] = node.kwargs["kwargs"]  # type: ignore[assignment]
    if "tensors_to_clone" in node.kwargs:
        names: Any = node.kwargs["tensors_to_clone"]
        return tuple(name for name in given if name in names)
    if WRITES not in node.meta:
        return None
    return tuple(name for name, value in given.items() if value in node.meta[WRITES])


__all__ = [
    "LAUNCHES",
    "Opaque",
    "UserLaunch",
    "constant_text",
    "is_launch",
    "is_multiple",
    "is_narrow",
    "key_of",
    "launch_of",
    "launch_text",
    "launched_with",
    "with_effect",
]
