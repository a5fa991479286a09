"""A user's Triton kernel as what fuses with it sees it, and the rules of that."""

from dataclasses import field
from typing import Any

from ...base.dataclass import dataclass
from ...index import Facts
from ...ir.dialects.tt_types import element_of
from ...ir.kernel import argument_attributes
from ...ir.layout import TensorSpec
from ...mlir import ir
from ..user_kernel.coordinates import Coordinates, KernelSpace, coordinates_of, is_computable
from ..user_kernel.effects import KernelEffects, kernel_effects
from ..user_kernel.maps import KernelAccesses, PointerAccess, accesses

#: The name of each rule, and what it refuses.  ``test/lit/passes/fuse-user-epilogues-*.mlir`` shows each.
EPILOGUE_RULES = {
    "not-empty": "a tensor that held something before the user's kernel wrote it",
    "template": "an output for which the template of the op takes no epilogue (``fuse.apart``)",
    "read": "a tensor that the user's kernel itself reads, or reads and writes atomically",
    "unknown-memory": "a user's kernel of which it is not known what it does to the tensor",
    "descriptor": "a tensor that is stored through a descriptor",
    "element": "a tensor that the user's kernel stores as elements of another type",
    "unknown-map": "a store whose elements or mask are not known, or into a tensor with gaps",
    "loop": "a store in a loop, where it is not proven that each element is written once",
    "stored-twice": "a reduction, or random numbers, of elements that may be stored more than once",
    "partly-written": "a reader that gives a meaning to elements that the user's kernel may not write",
    "several-maps": "a reader that needs elements which the user's kernel stores at another place or time",
    "other-points": "a reader whose points are not the elements that a tile stores",
    "reduction": "a reduction along an axis that no tile holds, a scan, or a product",
    "destination": "a reader that writes into memory that holds something, or adds to it",
    "assert": "a reader that asserts",
    "device": "a reader on another device",
    "order": "a reader that must run after another operation which must run after the user's kernel",
    "slower": "a reader whose accesses would be spread over so much memory that the estimate is negative",
    "no-form": "a reader with an op that has no form on tiles",
}


class EpilogueRefused(Exception):
    """Why a reader stays apart: a name of ``EPILOGUE_RULES``, one sentence, the numbers compared."""

    def __init__(self, rule: str, message: str, **numbers: Any) -> None:
        super().__init__(message)
        assert rule in EPILOGUE_RULES, f"no rule is named {rule}"
        self.rule, self.message, self.numbers = rule, message, numbers


@dataclass
class UserWriter:
    """A user's kernel, read once for all its readers.  ``facts``: about the sizes of the program."""

    func: ir.Operation
    facts: Facts
    effects: KernelEffects = field(init=False)
    accesses: KernelAccesses = field(init=False)
    space: KernelSpace = field(init=False)

    def __post_init__(self) -> None:
        self.effects = kernel_effects(self.func)
        self.accesses = accesses(self.func)
        self.space = KernelSpace.of(self.func, self.facts)

    def spec(self, argument: int) -> TensorSpec:
        return TensorSpec.of(self.func.regions[0].blocks[0].arguments[argument].type)

    def is_apart(self, argument: int) -> bool:
        """Whether the template of the kernel says that nothing is fused with a tensor."""
        return "fuse.apart" in argument_attributes(self.func)[argument]

    def stores(self, argument: int) -> list[tuple[ir.Operation, PointerAccess]]:
        """The ops that store to an argument.  Raises EpilogueRefused for one that may not be moved."""
        if self.is_apart(argument):
            raise EpilogueRefused("template", "the template of the op takes no epilogue for its output")
        effects = self.effects.arguments[argument]
        if effects is None or effects.unknown or effects.escapes or self.effects.why is not None:
            why = self.effects.why or "its address is stored"
            raise EpilogueRefused(
                "unknown-memory", f"what the user's kernel does to the tensor is not known: {why}"
            )
        if effects.read or effects.atomic:
            raise EpilogueRefused(
                "read", "the user's kernel reads what it stores there: it needs the stored value"
            )
        found = [(op, a) for op, a in self.accesses.by_op.items() if argument in a.arguments]
        for op, access in found:
            self._require_plain(op, access, argument)
        return found

    def _require_plain(self, op: ir.Operation, access: PointerAccess, argument: int) -> None:
        if op.name != "tt.store":
            raise EpilogueRefused("descriptor", "the user's kernel stores through a descriptor", op=op.name)
        if access.arguments != (argument,):
            raise EpilogueRefused("unknown-map", "a store may go to one of several tensors")
        stored, declared = str(element_of(op.operands[1].type)), self.spec(argument).element
        signless = declared.removeprefix("u") if declared.startswith("ui") else declared
        if stored != signless and not (declared == "i1" and stored == "i8"):
            raise EpilogueRefused(
                "element",
                "the user's kernel stores elements of another type",
                stored=stored,
                declared=declared,
            )
        parent = op.parent
        while parent is not None and parent.operation != self.func:
            if parent.operation.name == "scf.while":
                raise EpilogueRefused("loop", "a while loop stores it: how often is not known")
            parent = parent.operation.parent

    def coordinates(self, access: PointerAccess, argument: int) -> Coordinates:
        """Raises EpilogueRefused."""
        found = coordinates_of(access, self.spec(argument), self.space)
        if found is None or not is_computable(found):
            raise EpilogueRefused("unknown-map", "which elements the user's kernel stores is not known")
        return found
