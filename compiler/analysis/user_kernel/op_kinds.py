"""What ops of a user's kernel do with memory: tables by name.  An op of no table may do anything."""

import re

#: Results are made of the operands' values and nothing else: an address among the operands may be in every
#: result.  All of ``arith`` and ``math`` belong here, too.
COMPUTED = frozenset({
    "tt.splat", "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.join", "tt.split",
    "tt.cat", "tt.addptr", "tt.bitcast", "tt.gather", "tt.ptr_to_int", "tt.int_to_ptr", "tt.mulhiui",
    "tt.clampf", "tt.fp_to_fp", "tt.precise_sqrt", "tt.precise_divf", "tt.dot", "tt.dot_scaled",
    "tt.histogram", "tt.get_program_id", "tt.get_num_programs", "tt.make_range", "ub.poison",
    "llvm.intr.assume", "gpu.barrier", "fuse.base",
})  # fmt: skip
#: Ops of those dialects that are ``COMPUTED``.
PURE_DIALECTS = ("arith", "math")
#: Comparisons: no address is in what they give.
COMPARED = frozenset({"arith.cmpi", "arith.cmpf", "llvm.intr.assume", "tt.get_program_id"})
#: Ops that access the memory of operand 0.
READING = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
WRITING = frozenset({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
ATOMIC = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})
ACCESSES = READING | WRITING | ATOMIC
#: Control flow and functions; ``flow.py`` follows values through them.
STRUCTURE = frozenset({
    "builtin.module", "tt.func", "func.func", "tt.return", "func.return", "scf.for", "scf.while",
    "scf.if", "scf.yield", "scf.condition", "cf.br", "cf.cond_br",
})  # fmt: skip
#: Folds, whose operands go to the arguments of their region and to their results.
FOLDS = ("tt.reduce", "tt.scan")
#: What the names of ops begin with that describe the tensor at their operand 0.
DESCRIBING = "tt.make_tensor_descriptor"
#: Ops with an effect that is not on memory.
ASSERTS, PRINTS = "tt.assert", "tt.print"  #: the second begins the names of several
#: Text or a library that runs on each element.  It may do more unless the attribute ``pure`` denies that and
#: the text has no instruction on memory.
FOREIGN = frozenset({"tt.elementwise_inline_asm", "tt.elementwise_inline_asm_2", "tt.extern_elementwise"})
_ON_MEMORY = re.compile(
    r"\b(?!ld\.(?:param|const)\b)(?:ld|ldu|st|atom|red|cp|prefetch|tensormap|mbarrier|multimem)\."
)


def touches_memory(assembly: str) -> bool:
    """Whether PTX text has an instruction that accesses memory other than parameters and constants."""
    return _ON_MEMORY.search(assembly) is not None


def is_known(name: str) -> bool:
    """Whether ``name`` is an op of these tables, other than the foreign ones."""
    return (
        name.partition(".")[0] in PURE_DIALECTS
        or name in COMPUTED
        or name in ACCESSES
        or name in STRUCTURE
        or name.startswith((ASSERTS, PRINTS, DESCRIBING, *FOLDS))
    )
