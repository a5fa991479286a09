"""The table of differences from torch's analysis is what the analysis finds now."""

import pytest
import torch
from user_kernel_table import PAGE, page


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="the table is about torch 2.13")
def test_the_page_lists_the_differences() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python test/py/helpers/user_kernel_table.py --write"
