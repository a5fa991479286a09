"""The tensor variables of a launch plan: which storage each holds, and in which layout it shows it.

Kernels take addresses, so a buffer may be allocated in whatever layout of the same elements torch is to see
it; and one variable serves all values of one storage and layout, views and the results of kernels alike.
Where an extern op laid a result into a storage, only torch knows: layouts behind it count from that tensor.
"""

from collections.abc import Iterable, Mapping

from ...ir.layout import TensorSpec
from ...ir.storage import Storage, callee_name
from ...mlir import ir
from .steps import TensorType

#: Ops of ``@main`` that need no tensor of their operands.
_NEED_NO_TENSOR = ("fuse.view", "fuse.reuse", "fuse.free", "fuse.after")


class PlanTensors:
    """Variables while a plan is written.  ``holders``: all that ever held a storage, by its root."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._names: dict[ir.Value, dict[str, None]] = {}  #: that hold a storage now, in order
        self._shown: dict[ir.Value, dict[TensorSpec, str]] = {}  #: by origin, as layouts count from there
        self._first: dict[ir.Value, str] = {}  #: by origin
        self._origins: dict[ir.Value, set[ir.Value]] = {}  #: by root
        self.holders: dict[ir.Value, set[str]] = {}

    def define(self, value: ir.Value, name: str, spec: TensorSpec | None = None) -> None:
        """``name`` holds the storage of ``value``, as its type says or as ``spec`` does."""
        root, origin = self._storage.root(value), self._storage.origin(value)
        self._names.setdefault(root, {})[name] = None
        self._shown.setdefault(origin, {})[spec or TensorSpec.of(value.type)] = name
        self._first.setdefault(origin, name)
        self._origins.setdefault(root, set()).add(origin)
        self.holders.setdefault(root, set()).add(name)

    def hold(self, value: ir.Value, name: str) -> None:
        """``name`` holds the storage of ``value``, too, but is not what shows it."""
        root = self._storage.root(value)
        self._names.setdefault(root, {})[name] = None
        self.holders.setdefault(root, set()).add(name)

    def of(self, value: ir.Value) -> str | None:
        """The variable that shows the storage of ``value`` as its type says; None if there is none."""
        return self._shown[self._storage.origin(value)].get(TensorSpec.of(value.type))

    def to_take_over(
        self, donor: ir.Value, own: TensorSpec, wanted: TensorSpec | None
    ) -> tuple[str, TensorSpec] | None:
        """A variable that shows the donor's storage as a buffer of type ``own`` needs it, and how it does: as
        ``wanted``, or anyhow where torch does not see the buffer.
        """
        for spec, name in self._shown[self._storage.root(donor)].items():
            if spec == wanted or (wanted is None and same_elements(own, spec)):
                return name, spec
        return None

    def first(self, value: ir.Value) -> str:
        """The variable that held the origin of ``value`` first: it begins where the origin's type says."""
        return self._first[self._storage.origin(value)]

    def release(self, value: ir.Value, kept: str = "") -> list[str]:
        """Forgets the storage; its variables but ``kept``, oldest first."""
        root = self._storage.root(value)
        for origin in self._origins.pop(root, ()):
            del self._shown[origin], self._first[origin]
        return [name for name in self._names.pop(root, {}) if name != kept]


def wanted_layouts(
    main: ir.Operation, storage: Storage, functions: Mapping[str, ir.Operation]
) -> dict[ir.Value, TensorSpec]:
    """The layout in which torch sees each storage first, by its root; none for one that only kernels see."""
    wanted: dict[ir.Value, TensorSpec] = {}
    for op in main.regions[0].blocks[0].operations:
        op = op.operation
        if op.name in _NEED_NO_TENSOR:
            continue
        if op.name == "func.call" and "fuse.launch" in functions[callee_name(op)].attributes:
            continue
        for value in _tensors(op.operands):
            wanted.setdefault(storage.root(value), TensorSpec.of(value.type))
    return wanted


def same_elements(a: TensorSpec, b: TensorSpec) -> bool:
    """Whether two layouts lie on the same elements of a storage, and the second needs no other symbols."""
    place = [(s.element, s.device, s.offset, s.storage_elements) for s in (a, b)]
    return place[0] == place[1] and set(b.symbols) <= set(a.symbols)


def _tensors(values: Iterable[ir.Value]) -> list[ir.Value]:
    return [v for v in values if isinstance(v.type, ir.RankedTensorType)]


def tensor_type(spec: TensorSpec, device: str) -> TensorType:
    """The layout of a variable; ``device``: of tensors that name none."""
    return TensorType(spec.element, spec.sizes, spec.strides, spec.device or device)
