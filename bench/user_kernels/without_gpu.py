"""Launches of Triton kernels are captured where there is no GPU."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock


class _Driver:
    """A driver of Triton's for torch's analysis of kernels, which asks for a target."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


@contextlib.contextmanager
def triton_without_a_gpu() -> Iterator[None]:
    """Dynamo captures launches as if there were a GPU; nothing here can run one on it."""
    from triton.runtime import driver

    with (
        mock.patch("torch.utils._triton.has_triton", lambda **_: True),
        mock.patch("torch.utils._triton.has_triton_tensor_descriptor_host_tma", lambda **_: True),
        mock.patch.object(driver, "_active", _Driver()),
    ):
        yield
