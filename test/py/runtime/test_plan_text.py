"""The text of a launch plan: what is printed is read back, what is wrong (``validate_steps``) is one sentence
with its place, and neither needs MLIR or Triton.
"""

from dataclasses import replace

import pytest
from new_process import python

from fuse_mlir.compiler.runtime.errors import PlanError
from fuse_mlir.compiler.runtime.plans.plan import Plan
from fuse_mlir.compiler.runtime.plans.plan_text import plan_text
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.read_plan import read_plan
from fuse_mlir.compiler.runtime.plans.steps import Free
from fuse_mlir.compiler.runtime.plans.validate import validate

TEXT = """\
plan 1 on cuda:0
peak 4096
kernel double(ptr, ptr, i32)
kernel "odd name"(ptr, f32)
extern mm (2) -> 1 = aten.mm.default($0, $1)
extern topk (1) -> 2 = aten.topk.default($0, 2, sorted=true) leaves [0, 1]
extern other (2) -> 1 = aten.full.default([$1, 3], -inf, dtype=<dtype:float32>, device=<device:cpu>) \
writes [0] aliases [0: 0] effect
extern many (0) -> 0 = aten.stack.default((1, 0.5), {"a": [false, "x\\n\\"y"]}, nan)
unrecorded "aten.nonzero.default" because "its size depends on data" at "m.py":3, "module net.0":0

control control_flow_cond(v1: i1, v2: f32[8]) {
  v3: f32[8] = if v1 {
    v4: i64 = constant 3
    v5: i64 = v4 + 1
    yield v2
  } else {
    v6: f32[8] = run graph_inner(v2) from cond
    yield v6
  }
  v7: f32[8], v8: i64 = while (v9: f32[8] = v3, v10: i64 = 0) {
    v11: i1 = constant true
    yield v11, v9, v10
  } do {
    v12: i64 = v10 * 2
    yield v9, v12
  }
  for v13: index from 0 to 10 step 1 (v14: f32[8] = v7) {
    yield v14
  }
  return v14
}

graph graph_inner(a0: f32[8]) {
  align a0 to copy back
  launch "odd name" grid [1, 1, 1] (a0, 0.5) writes [0]
  copyback a0
  return a0
}

graph run(a0: f32[s0, 4], s0: index, a2: f32[4, 4 : 1, 4] on cpu, a3: f32[8], a4: i1) {
  align a0
  align a3 beside t0: f32[8]
  t1: f32[s0, 4] = alloc
  launch double grid [(s0 + 1) floordiv 2, 1, 1] (a0, t1, s0) writes [1] from add, "relu 1" at "a \\"b.py":12
  tune by [s0] double grid [s0, 1, 1] (a0, t1, s0) writes [1] or "odd name" grid [1, 1, 1] (t1, 1) writes [0]
  watch 0 reads (a0) writes (t1)
  t2: f32[s0, 4] = extern mm(t1, a2) from mm at "m.py":3
  check t2 [?, 4] [4, 1] made by "aten.mm.default"
  free a0
  recorded partition_0(t1, s0) static [0] writes [0] gives (t4) releases (t1) {
    t4: f32[s0*2] = view t1 offset [s0*2]
    free t1
  }
  t5: f32[s0] = reuse t4
  t6, t7 = draw 12 on cuda:0
  u0 = size t2 dim 0
  u1 = compute [s0*4 + u0]
  t8: f32[8] = run control_flow_cond(a4, a3) separated
  layout t8 f32[8]
  t9: bf16[], t10: complex<f32>[0, 3] = extern topk(t8)
  extern many()
  align t9
  return t5, t8, 3, u1
}
end
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_plan(TEXT)


def test_what_is_printed_is_read(plan: Plan) -> None:
    assert plan_text(plan) == TEXT
    assert read_plan("// of a dump\n\n" + TEXT.replace("  ", "\t")) == plan
    compile(python_source(plan), "plan", "exec")


#: A text in the plan, what stands there instead, what is said, and how many lines away.
WRONG = {
    "a function without steps": (
        TEXT[TEXT.index("  align a0 to copy back") : TEXT.index("}\n\ngraph run")],
        "",
        "the function 'graph_inner' does not end with a return",
        -1,
    ),
    "a prefix of the plan's own": ("u0 = size", "launch_x = size", "'launch_x' is no name of a variable", 0),
    "a suffix of the plan's own": ("u0 = size", "t2_p = size", "'t2_p' is no name of a variable", 0),
    "a keyword": ("u0 = size", "lambda = size", "'lambda' is no name of a variable", 0),
    "a written argument too many": (
        "writes [1] from add",
        "writes [7] from add",
        "writes to arguments that",
        0,
    ),
    "a written number": ("writes [1] from add", "writes [2] from add", "writes to arguments that", 0),
    "strides too few": ("check t2 [?, 4] [4, 1]", "check t2 [?, 4] [4]", "'t2' has 2 dims", 0),
    "sizes too few": ("check t2 [?, 4] [4, 1]", "check t2 [?] [4, 1]", "'t2' has 2 dims", 0),
    "a loop that carries less": (
        "    yield v9, v12\n",
        "    yield v9\n",
        "do not end with what it carries",
        -5,
    ),
    "a loop that hands on less": (
        "    yield v11, v9, v10\n",
        "    yield v11, v9\n",
        "do not end with what",
        -2,
    ),
    "a body that carries less": ("    yield v14\n", "    yield\n", "does not end with what it carries", -1),
    "a variable of another branch": (
        "run graph_inner(v2)",
        "run graph_inner(v5)",
        "'v5' is used before it is",
        0,
    ),
    "a part's own variable": ("t9: bf16[]", "t4: bf16[]", "'t4' is defined twice", 0),
    "an argument of no op": ("$0, $1)", "$0, $2)", "takes operand 2 of 2", 0),
    "an alias of nothing": ("aliases [0: 0]", "aliases [0: 5]", "has no operand or result 5", 0),
    "a leaf before the first": ("leaves [0, 1]", "leaves [0, -1]", "of the leaves [0, -1]", 0),
    "leaves too few": ("leaves [0, 1]", "leaves [0]", "gives 2 results of the leaves [0]", 0),
    "a keyword of Python": ("sorted=true", "lambda=true", "'lambda' is no name of an argument", 0),
    "a dtype from nowhere": ("<dtype:float32>", "<dtype:load>", "'dtype:load' names nothing of torch", 0),
    "a device from nowhere": ("<device:cpu>", "<device:__class__>", "names nothing of torch", 0),
    "an input that no part has": ("static [0] writes [0] gives", "static [9] gives", "has 2 inputs", 0),
    "two kernels of one name": (
        'kernel "odd name"(',
        "kernel double(",
        "two kernels of the name 'double'",
        0,
    ),
    "a kernel of anything": ("(ptr, f32)", "(ptr, list)", "takes a 'list', which no kernel can", 0),
    "another version": ("plan 1", "plan 2", "the plan is of version 2, and 1 is read here", 0),
    "an unknown kernel": ("launch double", "launch treble", "there is no kernel 'treble'", 0),
    "forms that write to others": ("(t1, 1) writes", "(a0, 1) writes", "write to different tensors", 0),
    "an unknown op": ("aten.mm.default(", "aten.mn.default(", "no operator is called 'aten.mn.default'", 0),
    "no operator": ("aten.mm.default(", "os.system(", "no operator is called 'os.system'", 0),
    "an attribute": ("aten.mm.default(", "torch.load(", "no operator is called 'torch.load'", 0),
    "a method": ("aten.mm.default(", "load_library.__call__(", "no operator is called", 0),
    "a file": ("aten.mm.default(", "aten.from_file.default(", "no operator is called", 0),
    "freed twice": ("  free a0\n", "  free a0\n  free a0\n", "'a0' is freed twice", 1),
    "freed in one step": ("  free a0\n", "  free a0, a0\n", "'a0' is freed twice", 0),
    "used after it was freed": ("t2 dim 0", "a0 dim 0", "'a0' is used after it was freed", 0),
    "used too early": ("run control_flow_cond(a4, a3)", "run control_flow_cond(a4, t9)", "before it is", 0),
    "used in a part without being handed in": ("view t1 offset", "view t2 offset", "before it is defined", 0),
    "defined twice": ("u0 = size t2 dim 0", "s0 = size t2 dim 0", "'s0' is defined twice", 0),
    "a size from nowhere": ("compute [s0*4 + u0]", "compute [s0*4 + u9]", "'u9' is used before", 0),
    "a name of the plan's own": (
        "t2: f32[s0, 4] = extern mm",
        "stream: f32[4] = extern mm",
        "'stream' is no name of a variable",
        0,
    ),
    "Python in a name": ("u0 = size", "__import__ = size", "'__import__' is no name of a variable", 0),
    "Python in a size": ("[s0*4 + u0]", "[__import__('os')]", "unexpected", 0),
    "a tensor for a number": ("(a0, t1, s0)", "(a0, t1, t1)", "'t1' is a tensor, and a number is", 0),
    "a number for a tensor": ("(a0, t1, s0)", "(a0, s0, s0)", "'s0' is a number, and a tensor is", 0),
    "too few arguments": ("(a0, t1, s0)", "(a0, t1)", "the kernel 'double' takes 3 arguments, and 2 are", 0),
    "too many results": ("t2: f32[s0, 4] = extern mm", "t2: f32[4], t3: f32[4] = extern mm", "gives 1", 0),
    "a branch that gives nothing": (
        "    yield v2\n",
        "    yield\n",
        "a branch ends with 0 values and has 1 results",
        -3,
    ),
    "a dim that is not there": ("t2 dim 0", "t2 dim 2", "'t2' has no dim 2", 0),
    "no return": ("  return t5, t8, 3, u1\n", "", "the function 'run' does not end with a return", -23),
    "a call of itself": (
        "run graph_inner(v2)",
        "run control_flow_cond(v4, v2)",
        "the function 'control_flow_cond' calls itself",
        -6,
    ),
    "no such function": ("run graph_inner(v2)", "run graph_outer(v2)", "there is no function", 0),
    "not copied back": ("  copyback a0\n", "", "'a0' is not copied back", 0),
    "copied back, not aligned": (
        "  align a0 to copy back\n",
        "  align a0\n",
        "'a0' was not aligned to be copied back",
        2,
    ),
    "what torch did not make": (
        "  align t9\n",
        "  align t8\n",
        "'t8' is no argument that can be aligned",
        0,
    ),
    "what no caller gave": (
        "  align t9\n",
        "  align t9 to copy back\n",
        "'t9' is no argument that can be aligned",
        0,
    ),
    "no type": ("t1: f32[s0, 4] = alloc", "t1: f31[s0, 4] = alloc", "'f31' is no type of elements", 0),
    "a word that means nothing": ("  free a0\n", "  freeze a0\n", "'freeze a0' begins no step", 0),
    "a long number": (
        "peak 4096",
        "peak " + "9" * 4000,
        "a number has too many digits",
        0,
    ),
    "deep arguments": (
        '{"a": [',
        '{"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[',
        "arguments nest deeper than",
        0,
    ),
    "more after the end": ("end\n", "end\nend\n", "nothing may follow 'end'", 1),
}


@pytest.mark.parametrize(("old", "new", "said", "away"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence_with_its_place(old: str, new: str, said: str, away: int) -> None:
    line = TEXT[: TEXT.index(old)].count("\n") + 1 + old.startswith("\n") + away
    with pytest.raises(PlanError) as raised:
        read_plan(TEXT.replace(old, new, 1), "x.plan")
    assert said in raised.value.message and "\n" not in str(raised.value)
    assert raised.value.place.split(":")[:2] == ["x.plan", str(line)]


def test_a_text_that_is_cut_short_is_no_plan() -> None:
    lines = TEXT.splitlines(keepends=True)
    for end in range(len(lines)):
        with pytest.raises(PlanError, match=r"^plan:\d+"):
            read_plan("".join(lines[:end]))
    for end in range(0, len(TEXT) - 1, 7):
        with pytest.raises(PlanError, match=r"^plan:\d+"):
            read_plan(TEXT[:end])


def test_what_a_text_repeats_is_read_each_time_it_stands_there() -> None:
    """The reader keeps what it read by its text: declarations of one op, lines of origins, types."""
    text = TEXT.replace("extern mm (2)", "extern mm_1 (2) -> 1 = aten.mm.default($0, $1)\nextern mm (2)")
    text = text.replace(
        "  free a0\n", '  t20: f32[s0, 4] = extern mm_1(t2, a2) from mm_1 at "m.py":3\n  free a0\n'
    )
    found = read_plan(text)
    assert [extern.name for extern in found.externs[:2]] == ["mm_1", "mm"]
    assert plan_text(found) == text
    moved = read_plan(text, device="cuda:1")
    assert {v.type.device for v in moved.main.parameters if not isinstance(v.type, str)} == {"cuda:1"}


@pytest.mark.parametrize("after", [' at "m.py":3 x', ' at "m.py":3, x', " at", " x"])
def test_nothing_may_follow_the_lines_of_a_step(after: str) -> None:
    start = "  t2: f32[s0, 4] = extern mm(t1, a2) from mm"
    text = TEXT.replace(
        f'{start} at "m.py":3\n', f'{start} at "m.py":3\n  t20: f32[s0, 4] = extern mm(t2, a2){after}\n'
    )
    with pytest.raises(PlanError, match=r"^plan:\d+:\d+: (expected|got)"):
        read_plan(text)


def test_a_plan_that_was_changed_is_checked_without_its_text(plan: Plan) -> None:
    steps = plan.main.steps
    twice = replace(plan.main, steps=(*steps[:-1], Free(("t8",)), Free(("t8",)), steps[-1]))
    with pytest.raises(PlanError, match=f"^in 'run', step {len(steps)}: 't8' is freed twice$"):
        validate(replace(plan, functions=(*plan.functions[:-1], twice)))


def test_a_plan_has_a_main_function(plan: Plan) -> None:
    for functions in ((), plan.functions[:-1]):
        with pytest.raises(PlanError, match="the last function of a plan is the graph 'run'"):
            validate(replace(plan, functions=functions))


def test_a_function_that_is_called_twice_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of functions that each call the next one twice would take 2 to the power of its length."""
    checked = []
    path = "fuse_mlir.compiler.runtime.plans.validate.validate_function"
    monkeypatch.setattr(path, lambda function, _: checked.append(function.name))
    once, twice = "  layout t8 f32[8]\n", "  t20: f32[8] = run graph_inner(a3)\n"
    read_plan(TEXT.replace(once, once + twice))
    assert checked == ["graph_inner", "control_flow_cond", "run"]


def test_reading_printing_and_checking_need_neither_mlir_nor_triton() -> None:
    code = f"""
import sys
from fuse_mlir.compiler.runtime.plans.plan_text import plan_text
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.read_plan import read_plan
text = {TEXT!r}
plan = read_plan(text)
assert plan_text(plan) == text and python_source(plan)
print(sorted({{"mlir", "torch_mlir", "triton"}} & {{name.partition(".")[0] for name in sys.modules}}))
"""
    assert python(code).strip() == "[]"
