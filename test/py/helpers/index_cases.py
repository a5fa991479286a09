"""What tests of index expressions share: points to evaluate them at, and how Hypothesis runs."""

import itertools

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

RUNS = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def grid(sizes, extents, indirect=(-3, 0, 5)):
    """Columns of every point: sizes as given, dims over their boxes, i0 over a few values."""
    dims = sorted(extents)
    axes = [range(extents[d]) for d in dims] + [indirect]
    points = np.array(list(itertools.product(*axes)), dtype=np.int64).reshape(-1, len(axes))
    env = {d: points[:, k] for k, d in enumerate(dims)}
    return {**env, "i0": points[:, -1], **{s: np.int64(n) for s, n in sizes.items()}}


def same(left, right):
    return np.array_equal(np.broadcast_arrays(left, right)[0], np.broadcast_arrays(left, right)[1])


#: Sizes may be 0: a box of such an extent has no points.
SIZES = st.fixed_dictionaries({"s0": st.integers(0, 5), "s1": st.integers(0, 5), "s2": st.integers(0, 4)})
