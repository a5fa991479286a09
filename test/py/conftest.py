"""What every Python test shares: `gpu` tests are skipped without CUDA, and property tests draw the same examples always."""

import pytest
from hypothesis import settings

# Two shared cores make a deadline a coin toss; the examples are derived from the test itself, so runs repeat.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` where torch sees no CUDA device; torch is imported only if there are such tests."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    for item in marked:
        item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
