"""The versions of torch and Triton that tests run with, for what differs between them."""

import re
from importlib import metadata


def _pair(package: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", metadata.version(package))[:2]
    return int(major), int(minor)


TORCH, TRITON = _pair("torch"), _pair("triton")
