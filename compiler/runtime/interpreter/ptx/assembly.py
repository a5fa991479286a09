"""PTX of users' inline assembly on the CPU: instructions on registers, without memory, branches and labels.

A register is a tensor of int64 with the bits of one register for each application of the text, zeros above
its width.  An instruction reads bits as the numbers of its type, computes, and writes bits.  ``approx``
functions are computed to full precision.
"""

import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ....base.dataclass import dataclass
from .instructions import INSTRUCTIONS
from .numbers import WIDTHS, UnknownInstruction, immediate

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GUARD = re.compile(r"@(!?)([%\w$]+)\s+(.*)", re.DOTALL)
_OPERAND = re.compile(r"\{[^}]*\}|[^,{}]+")
_COUNTED = re.compile(r"([%\w$]+)<(\d+)>$")


@dataclass(frozen=True)
class Instruction:
    """``guard``: a predicate's register and whether it must be false; operands that are ``{a, b}`` are
    tuples.
    """

    name: str
    modifiers: tuple[str, ...]
    types: tuple[str, ...]
    operands: tuple[str | tuple[str, ...], ...]
    guard: tuple[str, bool] | None = None


@dataclass(frozen=True)
class Assembly:
    """A text whose ``$0``, ``$1``.. are the outputs and then the inputs."""

    instructions: tuple[Instruction, ...]
    declared: frozenset[str]

    @staticmethod
    def of(text: str) -> "Assembly":
        """Raises UnknownInstruction for what the interpreter does not have."""
        instructions, declared = [], set[str]()
        for statement in _COMMENT.sub(" ", text).split(";"):
            line = " ".join(statement.split()).lstrip("{} ")
            if line.startswith(".reg"):
                _, _, names = line.split(" ", 2)
                for name in names.split(","):
                    counted = _COUNTED.match(name.strip())
                    numbers = range(int(counted[2])) if counted else ()
                    declared |= {f"{counted[1]}{n}" for n in numbers} if counted else {name.strip()}
            elif line:
                instructions.append(_instruction(line))
        return Assembly(tuple(instructions), frozenset(declared))

    def run(
        self, inputs: Sequence[Tensor], outputs: int, tied: Mapping[int, int] | None = None
    ) -> list[Tensor]:
        """The bits of the outputs.  ``tied``: input -> the output that is the same register.  Raises
        UnknownInstruction for a register that nothing wrote.
        """
        names = {f"${outputs + n}": f"${o}" for n, o in (tied or {}).items()}
        bits = {f"${outputs + n}": value for n, value in enumerate(inputs)}
        state = {names.get(name, name): value for name, value in bits.items()}
        for instruction in self.instructions:
            self._step(instruction, state, names)
        return [_read(state, names, f"${n}") for n in range(outputs)]

    def _step(self, instruction: Instruction, state: dict[str, Tensor], names: Mapping[str, str]) -> None:
        target, *sources = instruction.operands

        def read(name: str) -> Tensor:
            return _read(state, names, name, instruction.types[-1])

        values = [
            tuple(read(part) for part in source) if isinstance(source, tuple) else read(source)
            for source in sources
        ]
        made = INSTRUCTIONS[instruction.name](instruction.modifiers, instruction.types, values)
        targets = target if isinstance(target, tuple) else (target,)
        if isinstance(target, tuple):  # a move takes a register apart
            width = WIDTHS[instruction.types[0]] // len(target)
            made = tuple(made >> (n * width) & ((1 << width) - 1) for n in range(len(target)))  # type: ignore[assignment]
        for name, value in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
            place = names.get(name, name)
            if instruction.guard is not None and place != "_":
                predicate, inverted = instruction.guard
                holds = (read(predicate) != 0) ^ inverted
                value = torch.where(holds, value, state.get(place, torch.zeros_like(value)))
            state[place] = value


def _instruction(line: str) -> Instruction:
    guard, rest = None, line
    if (guarded := _GUARD.match(line)) is not None:
        guard, rest = (guarded[2], guarded[1] == "!"), guarded[3]
    opcode, _, given = rest.partition(" ")
    name, *parts = opcode.split(".")
    types = tuple(part for part in parts if part in WIDTHS)
    modifiers = tuple(part for part in parts if part not in WIDTHS)
    operands: list[str | tuple[str, ...]] = []
    for operand in (o.strip() for o in _OPERAND.findall(given)):
        if operand.startswith("{"):
            operands.append(tuple(part.strip() for part in operand[1:-1].split(",")))
        elif operand:
            operands.append(operand)
    if name not in INSTRUCTIONS or not types or len(operands) < 2:
        raise UnknownInstruction(opcode)
    return Instruction(name, modifiers, types, tuple(operands), guard)


def _read(state: Mapping[str, Tensor], names: Mapping[str, str], name: str, type_: str = "b64") -> Tensor:
    place = names.get(name, name)
    if place in state:
        return state[place]
    value = immediate(name, type_)
    if value is None:
        raise UnknownInstruction(f"'{name}', which nothing wrote")
    return torch.tensor(value)


__all__ = ["Assembly", "Instruction"]
