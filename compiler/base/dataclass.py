"""``dataclass``, as ``dataclasses.dataclass``, whose classes and instances take less time to make.

The import of the compiler makes about 360 such classes.  ``dataclasses.dataclass`` writes and compiles up to
six methods of each, which was half of that import; here it is ``__init__`` only, and the others are closures.
``field``, ``fields``, ``replace`` and ``asdict`` of ``dataclasses`` take these classes, too.

``frozen=True`` makes instances hashable, and the type checker forbids assignments to their fields.  Nothing
forbids them when the program runs, as that makes ``__init__`` three times as slow.
"""

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, *, eq: bool = True, frozen: bool = False) -> Any:
        """Adds ``__init__``, ``__repr__`` and, with ``eq``, ``__eq__`` to a class that does not define them.
        ``eq``, ``frozen``: as in ``dataclasses``; a class stays frozen where that made a base frozen.
        """
        if cls is None:
            return lambda later: dataclass(later, eq=eq, frozen=frozen)
        dataclasses.dataclass(cls, repr=False, eq=False, frozen=_has_frozen_base(cls))
        methods: dict[str, Any] = {"__repr__": _repr}
        if eq:
            compared = [f for f in dataclasses.fields(cls) if f.compare]
            methods["__eq__"] = _equality(_values([f.name for f in compared]))
            hashed = [f.name for f in compared if f.hash is not False]
            methods["__hash__"] = _hash(_values(hashed)) if frozen else None
        for name, method in methods.items():
            if vars(cls).get(name) is None:  # `__hash__` is, in a class that defines `__eq__`
                setattr(cls, name, method)
        return cls


def _has_frozen_base(cls: type) -> bool:
    parameters = [vars(base).get("__dataclass_params__") for base in cls.__mro__[1:]]
    return any(p is not None and p.frozen for p in parameters)


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of an instance with those names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
