"""The page of estimates beside what was measured."""

from fuse_mlir.bench.estimates import PAGE, Pair, main, page, pairs


def test_the_page_says_what_the_records_say() -> None:
    """Else: python -m fuse_mlir.bench.estimates.  An estimate that changes shows there by how much."""
    assert main(["--check"]) == 0
    assert page(list(pairs())) == PAGE.read_text(encoding="utf-8")
    assert main(["--wrong"]) == 2


def test_errors_are_counted() -> None:
    found = page([Pair("a", "h200", 2.0, 1.0), Pair("a", "h200", 1.0, 2.0), Pair("b", "h100", 1.1, 1.0)])
    assert "| a | h200 | 2 | 69% | +0% | 0% |" in found
    assert "| b | h100 | 1 | 10% | +10% | 100% |" in found and "| all | | 3 |" in found
