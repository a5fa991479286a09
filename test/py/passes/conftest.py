"""What all tests of passes share: dicts and sets do not lose operations that change."""

from collections.abc import Iterator

import pytest
from changed_keys import unchanged_keys


@pytest.fixture(autouse=True)
def keys_do_not_change() -> Iterator[None]:
    with unchanged_keys():
        yield
