"""The torch ops that a launch plan calls, as plain data: an op's name and the arguments of the call."""

from typing import TypeAlias

from ...base.dataclass import dataclass


@dataclass(frozen=True)
class Arg:
    """An operand of the call, by number."""

    number: int


@dataclass(frozen=True)
class Named:
    """A device, layout, memory format, dtype or object of the host, as ``#fuse.torch`` says it: ``text`` is
    ``dtype:float32`` or ``object:true_graph_0``.
    """

    text: str


@dataclass(frozen=True)
class List:
    """A list of arguments."""

    items: tuple["Argument", ...]


@dataclass(frozen=True)
class Tuple:
    """A tuple of arguments, which a higher-order op tells from a list."""

    items: tuple["Argument", ...]


@dataclass(frozen=True)
class Dict:
    """Arguments by name, in order."""

    items: tuple[tuple[str, "Argument"], ...]


#: An argument of an op: a constant, something with a name in torch, an operand, or a container of these.
Argument: TypeAlias = bool | int | float | str | Arg | Named | List | Tuple | Dict | None


@dataclass(frozen=True)
class Extern:
    """What a plan calls for one extern declaration.

    op: the operator ("aten.mm.default").  operands: how many the call has.  results: how many it gives.
    leaves: which leaves of what the op returns are the results, by position with None counted; None for all
    leaves that are not None.  mutated: operands that the op writes to.  aliases: pairs of a result and the
    operand whose storage it shares.  effect: calls of such ops keep their order, and none is dead.
    """

    name: str
    op: str
    operands: int
    arguments: tuple[Argument, ...]
    keywords: tuple[tuple[str, Argument], ...] = ()
    results: int = 1
    leaves: tuple[int, ...] | None = None
    mutated: tuple[int, ...] = ()
    aliases: tuple[tuple[int, int], ...] = ()
    effect: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the op takes the operands in order, and nothing else."""
        return not self.keywords and self.arguments == tuple(map(Arg, range(self.operands)))


def named(extern: Extern) -> tuple[str, ...]:
    """The texts of all ``Named`` arguments, in order."""
    found: list[str] = []

    def visit(argument: Argument) -> None:
        if isinstance(argument, Named):
            found.append(argument.text)
        elif isinstance(argument, List | Tuple):
            for item in argument.items:
                visit(item)
        elif isinstance(argument, Dict):
            for _, item in argument.items:
                visit(item)

    for argument in (*extern.arguments, *(a for _, a in extern.keywords)):
        visit(argument)
    return tuple(found)
