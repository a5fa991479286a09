"""A launch plan with a step of each kind, as data and as text.  Shared by tests, no test itself."""

import math
from dataclasses import replace

from fuse_mlir.compiler.index import parse
from fuse_mlir.compiler.runtime.plans.externs import Arg, Dict, Extern, List, Named, Tuple
from fuse_mlir.compiler.runtime.plans.plan import KernelParameters, Plan, PlanFunction, Unrecorded
from fuse_mlir.compiler.runtime.plans.steps import (
    Align,
    Alloc,
    Branch,
    CallExtern,
    CallFunction,
    Check,
    Compute,
    Constant,
    CopyBack,
    DrawNumbers,
    For,
    Free,
    HostArithmetic,
    LaunchKernel,
    LaunchTuned,
    LayOut,
    Origin,
    Recorded,
    Return,
    Reuse,
    Size,
    StepBlock,
    TensorType,
    Value,
    View,
    Watch,
    While,
)


def tensor(
    element: str, *sizes: str, strides: tuple[str, ...] | None = None, device: str = "cuda:0"
) -> TensorType:
    made = TensorType.row_major(element, tuple(map(parse, sizes)), device)
    return made if strides is None else replace(made, strides=tuple(map(parse, strides)))


TEXT = """\
plan on cuda:0
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

PLAN = Plan(
    "cuda:0",
    (KernelParameters("double", ("ptr", "ptr", "i32")), KernelParameters("odd name", ("ptr", "f32"))),
    (
        Extern("mm", "aten.mm.default", 2, (Arg(0), Arg(1))),
        Extern("topk", "aten.topk.default", 1, (Arg(0), 2), (("sorted", True),), 2, (0, 1)),
        Extern(
            "other",
            "aten.full.default",
            2,
            (List((Arg(1), 3)), -math.inf),
            (("dtype", Named("dtype:float32")), ("device", Named("device:cpu"))),
            mutated=(0,),
            aliases=((0, 0),),
            effect=True,
        ),
        Extern(
            "many",
            "aten.stack.default",
            0,
            (Tuple((1, 0.5)), Dict((("a", List((False, 'x\n"y'))),)), math.nan),
            results=0,
        ),
    ),
    (
        PlanFunction(
            "control_flow_cond",
            "control",
            (Value("v1", "i1"), Value("v2", tensor("f32", "8"))),
            (
                Branch(
                    "v1",
                    (Value("v3", tensor("f32", "8")),),
                    StepBlock(
                        (Constant(Value("v4", "i64"), 3), HostArithmetic(Value("v5", "i64"), "+", "v4", 1)),
                        ("v2",),
                    ),
                    StepBlock(
                        (
                            CallFunction(
                                "graph_inner",
                                ("v2",),
                                (Value("v6", tensor("f32", "8")),),
                                origin=Origin(("cond",)),
                            ),
                        ),
                        ("v6",),
                    ),
                ),
                While(
                    (Value("v9", tensor("f32", "8")), Value("v10", "i64")),
                    ("v3", 0),
                    StepBlock((Constant(Value("v11", "i1"), True),), ("v11", "v9", "v10")),
                    StepBlock((HostArithmetic(Value("v12", "i64"), "*", "v10", 2),), ("v9", "v12")),
                    (Value("v7", tensor("f32", "8")), Value("v8", "i64")),
                ),
                For(
                    Value("v13", "index"),
                    0,
                    10,
                    1,
                    (Value("v14", tensor("f32", "8")),),
                    ("v7",),
                    StepBlock((), ("v14",)),
                ),
                Return(("v14",)),
            ),
        ),
        PlanFunction(
            "graph_inner",
            "graph",
            (Value("a0", tensor("f32", "8")),),
            (
                Align("a0", True),
                LaunchKernel("odd name", (parse("1"), parse("1"), parse("1")), ("a0", 0.5), (0,)),
                CopyBack("a0"),
                Return(("a0",)),
            ),
        ),
        PlanFunction(
            "run",
            "graph",
            (
                Value("a0", tensor("f32", "s0", "4")),
                Value("s0", "index"),
                Value("a2", tensor("f32", "4", "4", strides=("1", "4"), device="cpu")),
                Value("a3", tensor("f32", "8")),
                Value("a4", "i1"),
            ),
            (
                Align("a0"),
                Align("a3", given=Value("t0", tensor("f32", "8"))),
                Alloc(Value("t1", tensor("f32", "s0", "4"))),
                LaunchKernel(
                    "double",
                    (parse("(s0 + 1) floordiv 2"), parse("1"), parse("1")),
                    ("a0", "t1", "s0"),
                    (1,),
                    Origin(("add", "relu 1"), (('a "b.py', 12),)),
                ),
                LaunchTuned(
                    (parse("s0"),),
                    (
                        LaunchKernel(
                            "double", (parse("s0"), parse("1"), parse("1")), ("a0", "t1", "s0"), (1,)
                        ),
                        LaunchKernel("odd name", (parse("1"), parse("1"), parse("1")), ("t1", 1), (0,)),
                    ),
                ),
                Watch(0, ("a0",), ("t1",)),
                CallExtern(
                    "mm",
                    ("t1", "a2"),
                    (Value("t2", tensor("f32", "s0", "4")),),
                    Origin(("mm",), (("m.py", 3),)),
                ),
                Check("t2", (None, parse("4")), (parse("4"), parse("1")), "aten.mm.default"),
                Free(("a0",)),
                Recorded(
                    "partition_0",
                    ("t1", "s0"),
                    (0,),
                    (0,),
                    ("t4",),
                    ("t1",),
                    (View(Value("t4", tensor("f32", "s0*2")), "t1", parse("s0*2")), Free(("t1",))),
                ),
                Reuse(Value("t5", tensor("f32", "s0")), "t4"),
                DrawNumbers(("t6", "t7"), "cuda:0", 12),
                Size("u0", "t2", 0),
                Compute("u1", parse("s0*4 + u0")),
                CallFunction("control_flow_cond", ("a4", "a3"), (Value("t8", tensor("f32", "8")),), True),
                LayOut("t8", tensor("f32", "8")),
                CallExtern(
                    "topk",
                    ("t8",),
                    (Value("t9", tensor("bf16")), Value("t10", tensor("complex<f32>", "0", "3"))),
                ),
                CallExtern("many", (), ()),
                Align("t9"),
                Return(("t5", "t8", 3, "u1")),
            ),
        ),
    ),
    (Unrecorded("aten.nonzero.default", "its size depends on data", (("m.py", 3), ("module net.0", 0))),),
    4096,
)
