"""Tables of ``fuse.dot`` and ``fuse.online_dot``: the type in which products of an element type are added
up, precisions, and types with a fast accumulation.
"""

#: A product of two factors over the dims that it sums, and one whose left factor is the exponentials of a
#: softmax over these dims.
DOT, ONLINE_DOT = "fuse.dot", "fuse.online_dot"
#: The ops that tensor cores compute.
PRODUCTS = (DOT, ONLINE_DOT)

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

#: Types of the right factor of ``fuse.online_dot``, to which the exponentials are rounded.
ONLINE_TYPES = ("bf16", "f16")

#: Values of the attribute ``precision``; the first holds where there is none.
PRECISIONS = ("ieee", "tf32")

#: Element types whose products tensor cores may add up in fewer bits than f32 has (``fast_accum``).
FAST_TYPES = ("f8E4M3FN", "f8E5M2")
