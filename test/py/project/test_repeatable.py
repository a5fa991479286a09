"""Property tests try the same examples whatever else the process has loaded."""

import importlib.util
import sys

from hypothesis import Phase, core, given, settings
from hypothesis import strategies as st


def drawn() -> list[int]:
    """What one property test is given."""
    found: list[int] = []

    @settings(max_examples=200, phases=[Phase.generate])
    @given(st.integers())
    def collect(n: int) -> None:
        found.append(n)

    collect()
    return found


def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path, monkeypatch):
    before = drawn()
    path = tmp_path / "of_numbers.py"
    path.write_text(f"NUMBERS = {[9_000_001 + 97 * n for n in range(500)]}")
    spec = importlib.util.spec_from_file_location("of_numbers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "of_numbers", module)
    assert drawn() == before


def test_fresh_examples_are_those_of_a_number(monkeypatch):
    """The profile that ``--fresh`` loads."""
    found = [drawn()]
    settings.load_profile("fresh")
    try:
        for number in (7, 7, 8):
            monkeypatch.setattr(core, "global_force_seed", number)
            found.append(drawn())
    finally:
        settings.load_profile("repeatable")
    assert found[1] == found[2] and len({tuple(numbers) for numbers in found}) == 3
