"""The attributes that the project gives to upstream ops: to modules, functions, arguments, calls, scalar ops.

The attributes of the dialects' own ops are in their classes.  docs/dialect.md is written from both, and a
test holds this table to the names that the code uses.
"""

from ...base.dataclass import dataclass


@dataclass(frozen=True)
class DiscardableAttribute:
    """One attribute.  on: what carries it.  example: its form in IR.  meaning: one to three sentences.
    written, read: which passes and files write and read it, except the verifier.  Texts are Markdown.
    """

    name: str
    on: str
    example: str
    meaning: str
    written: str
    read: str


_SYMBOL = "a size: an `index` argument, or a result of an extern declaration"

#: In the order of what carries them: modules, arguments, functions, kernels, extern ops, scalar ops.
ATTRIBUTES = (
    DiscardableAttribute(
        "fuse.device",
        "a module",
        'fuse.device = "cuda:0"',
        "The device of every tensor whose type has no layout; `cpu` where it is missing.",
        "the importer",
        "`ir/layout.py`, launch plans, `fuse-run`",
    ),
    DiscardableAttribute(
        "fuse.tiles",
        "a module",
        'fuse.tiles = {mm = {location = "loc(unknown)", text = "d0 grid 128, d1 grid 256", last}}',
        "The tile of each kernel with products, in words; `last` where no other one would be chosen. The "
        "driver takes it off.",
        "`choose-tiling`, `autotune-tiling` (`ir/chosen_tiles.py`)",
        "`driver/spilled_tiles.py`",
    ),
    DiscardableAttribute(
        "fuse.choice",
        "a call in `@main`",
        'fuse.choice = [{call_us = 3.4 : f32, kernel_us = 2.1 : f32, nodes = ["mm"], rule = "kernel"}]',
        "Of each product that the call computes: its FX nodes, the rule that decided whether it is a kernel "
        "or a call of the library, and microseconds of both with what is around them, where these were "
        "compared. `revocable`: a kernel that is the library's where none of its tiles fits.",
        "`choose-libraries`, `review-libraries`; whatever makes one call of several joins theirs "
        "(`ir/choices.py`)",
        "launches (`Launch.choices`), and so the schedule, the report and `driver/spilled_tiles.py`",
    ),
    DiscardableAttribute(
        "fuse.sym",
        _SYMBOL,
        'fuse.sym = "s0"',
        "The name of the size in types, extents and coordinates.",
        "the importer; passes that add a size to a kernel",
        "whatever reads sizes (`named_sizes` of `ir/kernel.py`)",
    ),
    DiscardableAttribute(
        "fuse.min",
        _SYMBOL,
        "fuse.min = 2 : i64",
        "The least value of the size; 0 where the attribute is missing. A value that may be negative "
        "needs it.",
        "the importer, from torch's bounds; passes copy it to kernels",
        "the facts of the index algebra",
    ),
    DiscardableAttribute(
        "fuse.max",
        _SYMBOL,
        "fuse.max = 4096 : i64",
        "The largest value of the size; unknown where the attribute is missing.",
        "the importer, from torch's bounds; passes copy it to kernels",
        "the facts of the index algebra",
    ),
    DiscardableAttribute(
        "fuse.hint",
        _SYMBOL,
        "fuse.hint = 8 : i64",
        "The size in the example inputs. Decisions may depend on it, results may not.",
        "the importer",
        "`ir/sizes.py`, for estimates and tiles; made inputs",
    ),
    DiscardableAttribute(
        "fuse.multiple",
        _SYMBOL,
        "fuse.multiple = 16 : i64",
        "The size is a multiple of this number. Triton is told of multiples of 16.",
        "the importer, on users' kernels; IR that is written by hand",
        "`lower-to-tt`; made inputs",
    ),
    DiscardableAttribute(
        "fuse.constant",
        "an argument of `@main`",
        'fuse.constant = "_tensor_constant0"',
        "The argument is a constant tensor of the graph. The value is its name there.",
        "the importer",
        "people",
    ),
    DiscardableAttribute(
        "fuse.storage",
        "an argument of `@main`",
        "fuse.storage = array<i64: 5, 30>",
        "The offset of the example tensor in its storage, and the number of elements of that storage. Only "
        "arguments of `as_strided` have it.",
        "the importer",
        "`ir/storage.py`, launch plans, made inputs",
    ),
    DiscardableAttribute(
        "fuse.mutates",
        "the `return` of `@main`",
        'fuse.mutates = {"1" = 0 : i64}',
        "Result 1 is the new value of argument 0, in the storage of that argument; the caller does "
        "not get it.",
        "the importer",
        "`deduplicate-results`, `reinplace-updates`, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.given",
        "`@main`",
        "fuse.given",
        "The caller gives up the arguments: each is freed after its last use, as what autograd saved for a "
        "backward graph is. Without the attribute the caller keeps them.",
        "the importer, of backward graphs",
        "`combine-launches`",
    ),
    DiscardableAttribute(
        "fuse.donated",
        "an argument of `@main`",
        "fuse.donated",
        "The tensor may be written over where nothing else owns its memory, as the op `fuse.take_over` finds "
        "out when it runs: the forward graph made it, autograd saved it, and no input, result or gradient "
        "shares memory with it.",
        "the importer, of backward graphs",
        "`write-in-place`",
    ),
    DiscardableAttribute(
        "fuse.bucket",
        "a call in `@main` that starts a collective",
        "fuse.bucket = 0 : i64",
        "Calls with equal numbers start as one call. No pass writes it.",
        "whoever edits a dump",
        "`bucket-collectives`",
    ),
    DiscardableAttribute(
        "fuse.group",
        "a call in `@main`",
        "fuse.group = 0 : i64",
        "Calls with equal numbers become one kernel. At the scheduled level no call has it any more.",
        "`fuse-vertical`, `fuse-horizontal`, `recompute-producers`, `recompute-rows`, `store-reductions`",
        "`materialize-fusion`",
    ),
    DiscardableAttribute(
        "fuse.kernel",
        "a function with a body",
        "fuse.kernel",
        "The function is a kernel: scalar code over named dims, or tile code once it has `fuse.grid`.",
        "the importer; passes that make kernels",
        "all passes on kernels",
    ),
    DiscardableAttribute(
        "fuse.dims",
        "a kernel, a launch",
        'fuse.dims = {d0 = "s0", d1 = "64"}',
        "The dims of a kernel and their extents, which are expressions over sizes.",
        "the importer; passes that change dims",
        "whatever reads kernels (`ir/kernel.py`)",
    ),
    DiscardableAttribute(
        "fuse.ties",
        "a kernel, a launch",
        "fuse.ties = array<i64: 1, 2>",
        "For each tensor result the argument whose storage it takes over (destination passing).",
        "the importer; passes that make kernels; `write-in-place` changes it",
        "`ir/storage.py`, and through it whatever asks for storage",
    ),
    DiscardableAttribute(
        "fuse.part",
        "a kernel, a launch",
        'fuse.part = "mm_kernel"',
        "All programs run the code of one kernel, whose calls share the launch: its name. The tile is that "
        "kernel's.",
        "`combine-launches`",
        "`codegen/launches.py`: `choose-tiling` is told of a tile that takes too much by this name",
    ),
    DiscardableAttribute(
        "fuse.anywhere",
        "a kernel",
        "fuse.anywhere = array<i64: 0>",
        "The numbers of the arguments of which only torch knows where they begin in their storage. A kernel "
        "without products need not have it.",
        "`choose-tiling`",
        "`analysis/kernel/descriptors.py`",
    ),
    DiscardableAttribute(
        "fuse.tile",
        "a kernel, a launch",
        'fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"},'
        ' {dims = ["d1"], block = 64 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}',
        "How the dims are cut into blocks, and with how many warps and stages a program runs. Kinds: "
        "`grid` (a program for each block), `resident` (one block holds the axis), `looped` (a program "
        "loops over the blocks). `group`, 1 where it is left out: how many blocks of the last but one "
        "grid axis programs go through before the next block of the last one. `programs`, 0 where it is "
        "left out: so many programs go through all blocks of the grid, and copy tiles by descriptors where "
        "they sum in a loop. `copied`: where such programs sum in no loop, descriptors copy the factors that "
        "all blocks have in common, again for each block. `again`: between two reductions of a row that it "
        "holds, a loop keeps what it has loaded, and computes again what it made of that. `written_out`: the "
        "steps of the looped axis are no loop but written out. `ahead`: what waits for no reduction is "
        "loaded before anything is reduced.",
        "`choose-tiling`, `autotune-tiling`; `combine-launches` keeps the warps and a common `ahead`",
        "`apply-tiling`, `launch-early` (`ahead`); `codegen/launches.py` (warps and stages)",
    ),
    DiscardableAttribute(
        "fuse.grid",
        "a tiled kernel, a launch",
        'fuse.grid = ["(s0 + 3) floordiv 4"]',
        "The numbers of programs along x, y and z, one to three expressions over sizes. A kernel with "
        "this attribute is tiled.",
        "`apply-tiling`, `combine-launches`",
        "`lower-to-tt`, launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.traffic",
        "a tiled kernel, a launch",
        "fuse.traffic = {reads = array<i64: 2048, 0>, slots = 512 : i64, writes = array<i64: 0, 2048>}",
        "The cost of the kernel, computed from its scalar body: the bytes read and written of each "
        "argument, and the issue slots of all scalar operations at all their points. Of a kernel with "
        "products, also their `flops` and the type of their operands, `element`. Only estimates use it.",
        "`apply-tiling`",
        "`analysis/cost/estimate.py`",
    ),
    DiscardableAttribute(
        "fuse.user",
        "a tiled kernel, a launch",
        'fuse.user = "model.py:12 softmax_kernel"',
        "The kernel is a user's Triton kernel: the file and the line of its function, and the name of the "
        "function. It is tile code at every level, and Triton is promised what its own launcher promises.",
        "the importer",
        "passes over scalar kernels, which leave it alone; `passes/tiling/promises.py`",
    ),
    DiscardableAttribute(
        "fuse.configs",
        "a tiled kernel, a launch",
        "fuse.configs = [@halve_kernel_1, @halve_kernel_2]",
        "The functions that are the same user's kernel in the further configurations of its autotuner, or of "
        "the template that gives it, with the same arguments and results. Calls name the first function. The "
        "interpreter runs the first; on a GPU, the fastest runs.",
        "the importer",
        "`lower-to-tt`, `deduplicate-kernels`, launch plans",
    ),
    DiscardableAttribute(
        "fuse.tuned_by",
        "a tiled kernel, a launch",
        'fuse.tuned_by = ["s0", "64"]',
        "The integers, expressions over sizes, by whose values a configuration is chosen. For each "
        "combination of values the configurations are measured once.",
        "the importer",
        "launch plans",
    ),
    DiscardableAttribute(
        "fuse.apart",
        "an argument of a user's kernel",
        "fuse.apart",
        "Nothing is fused with the kernel at this tensor: it is not computed where the kernel loads it, and "
        "what reads it is not computed where the kernel stores it.",
        "the importer, from the fusion spec of a template",
        "`fuse-user-prologues`, `fuse-user-epilogues`",
    ),
    DiscardableAttribute(
        "fuse.launch",
        "a declaration",
        "fuse.launch = @k_tt",
        "A call of the declaration launches this `tt.func`.",
        "`lower-to-tt`",
        "launch plans, `codegen/launches.py`, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.params",
        "a launch",
        'fuse.params = ["0:ptr", "1:ptr", "2:i32"]',
        "For each parameter of the `tt.func`, the number of the call's argument, and how it is passed.",
        "`lower-to-tt`",
        "launch plans, `codegen/launches.py`, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.extern",
        "a declaration",
        'fuse.extern = "aten.mm.default"',
        "A call of the declaration runs this operator or function of the host.",
        "the importer",
        "launch plans, the interpreter, `ir/storage.py`, estimates",
    ),
    DiscardableAttribute(
        "fuse.args",
        "an extern declaration",
        "fuse.args = [#fuse.arg<0 : i64>, [4, 8], unit]",
        "The positional arguments of the operator.",
        "the importer",
        "launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.kwargs",
        "an extern declaration",
        'fuse.kwargs = {device = #fuse.torch<"device:cuda:0">}',
        "The keyword arguments of the operator.",
        "the importer",
        "launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.returns",
        "an extern declaration",
        "fuse.returns = array<i64: 0, 2>",
        "The numbers of the leaves of the operator's return value that are results, counting leaves that "
        "are None. Without it, all leaves that are not None are results.",
        "the importer",
        "launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.mutated",
        "an extern declaration",
        "fuse.mutated = array<i64: 0>",
        "The operands that the operator writes in place.",
        "the importer",
        "dependences, estimates, CUDA graphs, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.aliases",
        "an extern declaration",
        'fuse.aliases = {"0" = 1 : i64}',
        "Result 0 shares the storage of operand 1.",
        "the importer",
        "`ir/storage.py`",
    ),
    DiscardableAttribute(
        "fuse.ranks",
        "an extern declaration of a collective",
        "fuse.ranks = 8 : i64",
        "How many processes take part in the collective; 8 where the attribute is missing.",
        "the importer, from the process group",
        "estimates of time (`analysis/cost/collectives.py`)",
    ),
    DiscardableAttribute(
        "fuse.held",
        "an extern declaration",
        "fuse.held = array<i64: 1>",
        "Operands that are not passed to the operator: tensors that must keep their contents until it "
        "runs, and sizes that the types of its results name.",
        "the importer",
        "the verifier; other passes see ordinary operands, which count as uses",
    ),
    DiscardableAttribute(
        "fuse.precision",
        "an extern declaration",
        'fuse.precision = "tf32"',
        "On a GPU torch may round the operands of this product of f32 to TF32. The kernel that takes its "
        "place gets it as `precision` of `fuse.dot`. Without it the product is exact in f32.",
        "the importer, from torch's switches",
        "`choose-libraries`",
    ),
    DiscardableAttribute(
        "fuse.instead",
        "a kernel that is a product alone",
        "fuse.instead = @mm",
        "The kernel has taken the place of a call of torch's libraries. This is its declaration, which stays "
        "in the module as long. Fused kernels do not have it.",
        "`choose-libraries`, where it chose by its estimates",
        "`review-libraries`, which makes the call again or erases the attribute",
    ),
    DiscardableAttribute(
        "fuse.wide",
        "a kernel that is a product alone",
        "fuse.wide",
        "The product is part of a chain of products of more than 128 columns, which is estimated to pay as "
        "one kernel. Fused kernels do not have it.",
        "`choose-libraries`",
        "`fuse-vertical` and `fuse-horizontal` (`analysis/fusion/columns.py`)",
    ),
    DiscardableAttribute(
        "fuse.cascade",
        "a kernel that is a product alone, or an extern declaration of one",
        "fuse.cascade",
        "The product is one of several that are estimated to pay as one kernel, or as one each, of which a "
        "program goes through the columns. Fused kernels do not have it.",
        "`choose-libraries`; of a declaration the importer, where the rewrite `attention-gradients` decided",
        "`derive-cascades`; of a declaration `choose-libraries`",
    ),
    DiscardableAttribute(
        "fuse.looped",
        "a kernel of two products",
        "fuse.looped",
        "A program goes through the columns of the first product, which the last one sums. It stays so in a "
        "fused kernel.",
        "`derive-cascades`",
        "`fuse-vertical` and `fuse-horizontal` (`analysis/fusion/columns.py`), `choose-tiling`",
    ),
    DiscardableAttribute(
        "fuse.vectors",
        "a kernel that reduces nothing",
        "fuse.vectors",
        "Each point of the last dim is a vector of neighbours along memory, which the kernel computes and "
        "stores one by one. Without it they are read and written so, too.",
        "`unroll-and-jam`",
        "`choose-tiling`, `apply-tiling` (`analysis/tiling/vectors.py`)",
    ),
    DiscardableAttribute(
        "fuse.effect",
        "a declaration of an extern op or sub-graph, a control-flow function, a user's kernel or its launch",
        "fuse.effect",
        "A call is never dead and keeps its order among calls with effects.",
        "the importer",
        "dependences, CUDA graphs",
    ),
    DiscardableAttribute(
        "fuse.graph",
        "a declaration",
        "fuse.graph = @true_graph_0",
        "A call of the declaration runs the `@main` of this nested module.",
        "the importer",
        "`ir/nesting.py`, launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.control_flow",
        "a function with a body",
        "fuse.control_flow",
        "The function holds `scf` ops around calls of sub-graphs, which the host runs.",
        "the importer",
        "launch plans, the interpreter",
    ),
    DiscardableAttribute(
        "fuse.control_deps",
        "a function with a body",
        "fuse.control_deps",
        "The function is an ordered group: its ops run after the tokens that the call takes.",
        "the importer",
        "`lower-control-deps`, which dissolves it",
    ),
    DiscardableAttribute(
        "fuse.index_check",
        "a `fuse.device_assert`, `cf.assert` or `tt.assert`",
        "fuse.index_check",
        "The condition says that an index is in range: an IndexError otherwise. Triton does not see it.",
        "the importer; what lowers an assertion copies it",
        "`deduplicate-checks`; the interpreter (`assertion_error` of `runtime/errors.py`)",
    ),
    DiscardableAttribute(
        "fuse.implicit",
        "an `arith.truncf` of a kernel",
        "fuse.implicit",
        "The rounding is there only because an op of eager mode ends there. It may be left out.",
        "the importer, as `fx/roundings.py` says",
        "`keep-float32`",
    ),
    DiscardableAttribute(
        "fuse.coarse",
        "a float op of a kernel",
        "fuse.coarse",
        "Before `keep-float32` left out the rounding, every user read the value rounded to 16 bits. So a "
        "short approximation is accurate enough.",
        "`keep-float32`",
        "`analysis/kernel/precision.py`",
    ),
)
