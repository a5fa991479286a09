"""A launch plan as text and as JSON: what is stored is read, what is wrong (``validate_steps``) is one
sentence with its place, and neither needs MLIR or Triton.
"""

import json
import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from new_process import python
from plan_of_all_steps import PLAN, TEXT, tensor

from fuse_mlir.compiler.base.json_data import from_json, to_json
from fuse_mlir.compiler.index import parse
from fuse_mlir.compiler.runtime.errors import PlanError
from fuse_mlir.compiler.runtime.plans.externs import Arg, Extern, List, Named
from fuse_mlir.compiler.runtime.plans.plan import KernelParameters, Plan
from fuse_mlir.compiler.runtime.plans.plan_text import plan_text
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.steps import (
    Align,
    Alloc,
    Branch,
    CallExtern,
    CallFunction,
    Check,
    Compute,
    CopyBack,
    Free,
    LaunchKernel,
    LaunchTuned,
    LayOut,
    Origin,
    Return,
    Size,
    StepBlock,
    Value,
    View,
)
from fuse_mlir.compiler.runtime.plans.validate import validate

F32 = tensor("f32", "s0", "4")
LAUNCH = LaunchKernel(
    "double", (parse("(s0 + 1) floordiv 2"), parse("1"), parse("1")), ("a0", "t1", "s0"), (1,)
)
LAUNCH = replace(LAUNCH, origin=Origin(("add", "relu 1"), (('a "b.py', 12),)))
MM = CallExtern("mm", ("t1", "a2"), (Value("t2", F32),), Origin(("mm",), (("m.py", 3),)))
CHECK = Check("t2", (None, parse("4")), (parse("4"), parse("1")), "aten.mm.default")
SIZE, COMPUTE = Size("u0", "t2", 0), Compute("u1", parse("s0*4 + u0"))
EXTERN = Extern("mm", "aten.mm.default", 2, (Arg(0), Arg(1)))
INNER = CallFunction("graph_inner", ("v2",), (Value("v6", tensor("f32", "8")),), origin=Origin(("cond",)))
COND = CallFunction("control_flow_cond", ("a4", "a3"), (Value("t8", tensor("f32", "8")),), True)
DEEP: Any = 0
for _ in range(20):
    DEEP = List((DEEP,))
BLOCK = StepBlock((Free(("t8",)),), ())
for _ in range(20):
    BLOCK = StepBlock((Branch("a4", (), BLOCK, None),), ())

#: A part of the plan, the parts that stand there instead, and what is said.
WRONG: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "a function without steps": (PLAN.functions[1].steps, ((),), "'graph_inner' does not end with a return"),
    "a prefix of the plan's own": (SIZE, (Size("launch_x", "t2", 0),), "'launch_x' is no name of a variable"),
    "a suffix of the plan's own": (SIZE, (Size("t2_p", "t2", 0),), "'t2_p' is no name of a variable"),
    "a keyword": (SIZE, (Size("lambda", "t2", 0),), "'lambda' is no name of a variable"),
    "a written argument too many": (LAUNCH, (replace(LAUNCH, written=(7,)),), "writes to arguments that"),
    "a written number": (LAUNCH, (replace(LAUNCH, written=(2,)),), "writes to arguments that"),
    "strides too few": (CHECK, (replace(CHECK, strides=(parse("4"),)),), "'t2' has 2 dims"),
    "sizes too few": (CHECK, (replace(CHECK, sizes=(None,)),), "'t2' has 2 dims"),
    "a loop that carries less": (("v9", "v12"), (("v9",),), "do not end with what it carries"),
    "a loop that hands on less": (("v11", "v9", "v10"), (("v11", "v9"),), "do not end with what"),
    "a body that carries less": (
        StepBlock((), ("v14",)),
        (StepBlock((), ()),),
        "does not end with what it carries",
    ),
    "a variable of another branch": (
        INNER,
        (replace(INNER, arguments=("v5",)),),
        "'v5' is used before it is",
    ),
    "a part's own variable": (
        Value("t9", tensor("bf16")),
        (Value("t4", tensor("bf16")),),
        "'t4' is defined twice",
    ),
    "an argument of no op": (EXTERN, (replace(EXTERN, arguments=(Arg(0), Arg(2))),), "takes operand 2 of 2"),
    "an alias of nothing": (((0, 0),), (((0, 5),),), "has no operand or result 5"),
    "a leaf before the first": ((0, 1), ((0, -1),), "of the leaves [0, -1]"),
    "leaves too few": ((0, 1), ((0,),), "gives 2 results of the leaves [0]"),
    "a keyword of Python": (("sorted", True), (("lambda", True),), "'lambda' is no name of an argument"),
    "a dtype from nowhere": (
        Named("dtype:float32"),
        (Named("dtype:load"),),
        "'dtype:load' names nothing of torch",
    ),
    "a device from nowhere": (Named("device:cpu"), (Named("device:__class__"),), "names nothing of torch"),
    "deep arguments": (List((False, 'x\n"y')), (DEEP,), "nest deeper than 16"),
    "two kernels of one name": (
        KernelParameters("odd name", ("ptr", "f32")),
        (KernelParameters("double", ("ptr",)),),
        "two kernels of the name 'double'",
    ),
    "a kernel of anything": (("ptr", "f32"), (("ptr", "list"),), "takes a 'list', which no kernel can"),
    "an unknown kernel": (LAUNCH, (replace(LAUNCH, kernel="treble"),), "there is no kernel 'treble'"),
    "forms that write to others": (("t1", 1), (("a0", 1),), "write to different tensors"),
    "no forms": (PLAN.main.steps[4], (LaunchTuned((), ()),), "there is no form of a kernel"),
    **{
        f"an op called {op}": (EXTERN, (replace(EXTERN, op=op),), f"no operator is called '{op}'")
        for op in (
            "aten.mn.default",
            "os.system",
            "torch.load",
            "load_library.__call__",
            "aten.from_file.default",
        )
    },
    "freed twice": (Free(("a0",)), (Free(("a0",)), Free(("a0",))), "'a0' is freed twice"),
    "freed in one step": (Free(("a0",)), (Free(("a0", "a0")),), "'a0' is freed twice"),
    "used after it was freed": (SIZE, (Size("u0", "a0", 0),), "'a0' is used after it was freed"),
    "used too early": (COND, (replace(COND, arguments=("a4", "t9")),), "'t9' is used before it is defined"),
    "used in a part without being handed in": (
        View(Value("t4", tensor("f32", "s0*2")), "t1", parse("s0*2")),
        (View(Value("t4", tensor("f32", "s0*2")), "t2", parse("0")),),
        "'t2' is used before it is defined",
    ),
    "defined twice": (SIZE, (Size("s0", "t2", 0),), "'s0' is defined twice"),
    "a size from nowhere": (COMPUTE, (Compute("u1", parse("s0*4 + u9")),), "'u9' is used before"),
    "a name of the plan's own": (
        Value("t2", F32),
        (Value("stream", F32),),
        "'stream' is no name of a variable",
    ),
    "Python in a name": (SIZE, (Size("__import__", "t2", 0),), "'__import__' is no name of a variable"),
    "a tensor for a number": (
        LAUNCH,
        (replace(LAUNCH, arguments=("a0", "t1", "t1")),),
        "'t1' is a tensor, and a number is",
    ),
    "a number for a tensor": (
        LAUNCH,
        (replace(LAUNCH, arguments=("a0", "s0", "s0")),),
        "'s0' is a number, and a tensor is",
    ),
    "too few arguments": (
        LAUNCH,
        (replace(LAUNCH, arguments=("a0", "t1")),),
        "the kernel 'double' takes 3 arguments, and 2 are",
    ),
    "too many results": (MM, (replace(MM, results=(Value("t2", F32), Value("t3", F32))),), "gives 1"),
    "an input that no part has": (
        PLAN.main.steps[9],
        (replace(PLAN.main.steps[9], static=(9,)),),
        "has 2 inputs",
    ),
    "a branch that gives nothing": (("v2",), ((),), "a branch ends with 0 values and has 1 results"),
    "blocks inside blocks": (SIZE, (*BLOCK.steps, SIZE), "blocks nest deeper than 16"),
    "a dim that is not there": (SIZE, (Size("u0", "t2", 2),), "'t2' has no dim 2"),
    "no return": (Return(("t5", "t8", 3, "u1")), (), "the function 'run' does not end with a return"),
    "a call of itself": (
        INNER,
        (replace(INNER, function="control_flow_cond"),),
        "the function 'control_flow_cond' calls itself",
    ),
    "no such function": (INNER, (replace(INNER, function="graph_outer"),), "there is no function"),
    "not copied back": (CopyBack("a0"), (), "'a0' is not copied back"),
    "copied back, not aligned": (Align("a0", True), (Align("a0"),), "'a0' was not aligned to be copied back"),
    "what torch did not make": (Align("t9"), (Align("t8"),), "'t8' is no argument that can be aligned"),
    "what no caller gave": (Align("t9"), (Align("t9", True),), "'t9' is no argument that can be aligned"),
    "no type of elements": (
        Alloc(Value("t1", F32)),
        (Alloc(Value("t1", replace(F32, element="f31"))),),
        "'f31' is no type of elements",
    ),
    "no type of a number": (Value("v8", "i64"), (Value("v8", "i63"),), "'i63' is no type of a number"),
    "a device of nothing": (
        Value("t9", tensor("bf16")),
        (Value("t9", tensor("bf16", device="x")),),
        "'x' is no device of a tensor",
    ),
    "a stride too many": (
        Value("t9", tensor("bf16")),
        (Value("t9", tensor("bf16", strides=("1",))),),
        "0 sizes and 1 strides",
    ),
    "no main function": (PLAN.main, (), "the last function of a plan is the graph 'run'"),
    "no function": (PLAN.functions, ((),), "the last function of a plan is the graph 'run'"),
}


def swapped(whole: Any, old: Any, new: tuple[Any, ...]) -> Any:
    """``whole`` with other parts where ``old`` stands."""
    if isinstance(whole, tuple):
        parts = [
            new if type(part) is type(old) and part == old else (swapped(part, old, new),) for part in whole
        ]
        return tuple(part for several in parts for part in several)
    if not is_dataclass(whole) or isinstance(whole, type):
        return whole
    held = {field.name: getattr(whole, field.name) for field in fields(whole)}
    return replace(
        whole,
        **{n: new[0] if type(v) is type(old) and v == old else swapped(v, old, new) for n, v in held.items()},
    )


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence_with_its_place(old: Any, new: tuple[Any, ...], said: str) -> None:
    wrong = swapped(PLAN, old, new)
    assert wrong != PLAN
    with pytest.raises(PlanError) as raised:
        validate(wrong)
    assert said in raised.value.message and "\n" not in str(raised.value)
    assert re.fullmatch(r"the plan|in '\w+'(, step \d+)?", raised.value.place)


def test_what_is_printed_and_stored_is_the_plan() -> None:
    validate(PLAN)
    assert plan_text(PLAN) == TEXT
    assert from_json(Plan, json.loads(json.dumps(to_json(PLAN)))) == PLAN
    compile(python_source(PLAN), "plan", "exec")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"s0*4 + u0"', '"__import__(1)"', "Plan.functions.steps.value: expected index .*unexpected"),
        ('{"Free":', '{"Freeze":', "Plan.functions.steps: expected Align or Alloc or .* got dict"),
        ('"cuda:0"', "0", "Plan.device: expected str, got int"),
        ('"operator": "+"', '"operator": "/"', "Plan.functions.steps.then.steps.operator: expected"),
        ('"static": [0]', '"static": ["0"]', "Plan.functions.steps.static: expected int, got str"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_one_sentence(old: str, new: str, said: str) -> None:
    text = json.dumps(to_json(PLAN))
    assert old in text
    with pytest.raises(ValueError, match=f"^{said}"):
        from_json(Plan, json.loads(text.replace(old, new, 1)))


def test_the_place_is_the_number_of_a_step() -> None:
    with pytest.raises(PlanError, match=r"^in 'run', step 9: 'a0' is freed twice$"):
        validate(swapped(PLAN, Free(("a0",)), (Free(("a0",)), Free(("a0",)))))


def test_a_function_that_is_called_twice_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of functions that each call the next one twice would take 2 to the power of its length."""
    checked = []
    path = "fuse_mlir.compiler.runtime.plans.validate.validate_function"
    monkeypatch.setattr(path, lambda function, _: checked.append(function.name))
    layout = LayOut("t8", tensor("f32", "8"))
    validate(swapped(PLAN, layout, (layout, replace(INNER, arguments=("a3",)))))
    assert checked == ["graph_inner", "control_flow_cond", "run"]


def test_reading_printing_and_checking_need_neither_mlir_nor_triton() -> None:
    code = f"""
import json, sys
from fuse_mlir.compiler.base.json_data import from_json
from fuse_mlir.compiler.runtime.plans.plan import Plan
from fuse_mlir.compiler.runtime.plans.plan_text import plan_text
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.validate import validate
plan = from_json(Plan, json.loads({json.dumps(to_json(PLAN))!r}))
validate(plan)
assert plan_text(plan) and python_source(plan)
print(sorted({{"mlir", "torch_mlir", "triton"}} & {{name.partition(".")[0] for name in sys.modules}}))
"""
    assert python(code).strip() == "[]"
