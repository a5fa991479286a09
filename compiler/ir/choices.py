"""``fuse.choice``: of the products that a call of ``@main`` computes, what decided whether each is a kernel.

The passes that decide write it, and those that make one call of several join what these say.  A launch has it
(``Launch.choices``): so the schedule and the report tell it, and the driver knows what a spill may undo.
"""

from collections.abc import Iterable

from ..base.launch import ProductChoice
from ..mlir import ir
from .kernel import attribute_items, string, strings

CHOICE = "fuse.choice"


def choices_of(call: ir.Operation) -> tuple[ProductChoice, ...]:
    """Of each product that a call computes.  Raises ValueError where the attribute is none of the passes'."""
    if CHOICE not in call.attributes:
        return ()
    try:
        return tuple(map(_choice, ir.ArrayAttr(call.attributes[CHOICE])))
    except (KeyError, ValueError):
        raise ValueError(
            f"expected {CHOICE} to be a list of a rule, FX nodes and times, got {call.attributes[CHOICE]}"
        ) from None


def note_choice(call: ir.Operation, choice: ProductChoice) -> None:
    """Says what decided about the one product of a call, in the place of what was said before."""
    parts: dict[str, ir.Attribute] = {
        "nodes": ir.ArrayAttr.get([ir.StringAttr.get(node) for node in choice.nodes]),
        "rule": ir.StringAttr.get(choice.rule),
    }
    parts |= {name: ir.FloatAttr.get(ir.F32Type.get(), us) for name, us in choice.numbers.items()}
    said = ir.DictAttr.get(parts | ({"revocable": ir.UnitAttr.get()} if choice.revocable else {}))
    call.attributes[CHOICE] = ir.ArrayAttr.get([said])


def join_choices(call: ir.Operation, joined: Iterable[ir.Operation]) -> None:
    """Says of a call what the calls say whose place it takes."""
    found = [a for each in joined if CHOICE in each.attributes for a in ir.ArrayAttr(each.attributes[CHOICE])]
    if found:
        call.attributes[CHOICE] = ir.ArrayAttr.get(list(dict.fromkeys(found)))


def _choice(attribute: ir.Attribute) -> ProductChoice:
    parts = dict(attribute_items(attribute))
    kernel, call = (_microseconds(parts.get(name)) for name in ("kernel_us", "call_us"))
    return ProductChoice(string(parts["rule"]), strings(parts["nodes"]), kernel, call, "revocable" in parts)


def _microseconds(attribute: ir.Attribute | None) -> float | None:
    return None if attribute is None else round(ir.FloatAttr(attribute).value, 2)
