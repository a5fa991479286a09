"""Tables of ``fuse.dot``: the type in which products of an element type are added up, precisions, and types
with a fast accumulation."""

#: Element type of the operands -> type of the sum.  Other types have no ``fuse.dot``.
ACCUMULATORS = {
    "f64": "f64",
    "f32": "f32",
    "f16": "f32",
    "bf16": "f32",
    "f8E4M3FN": "f32",
    "f8E5M2": "f32",
    "i8": "i32",
    "i16": "i32",
    "i32": "i32",
    "i64": "i64",
}

#: Values of the attribute ``precision``; the first holds where there is none.
PRECISIONS = ("ieee", "tf32")

#: Element types whose products tensor cores may add up in fewer bits than f32 has (``fast_accum``).
FAST_TYPES = ("f8E4M3FN", "f8E5M2")
