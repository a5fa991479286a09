"""The ledger holds: what the compiler makes of a share of the corpus is, bit for bit, what was committed.

A commit that changes a decision writes the ledger anew (`python test/py/helpers/ledger.py --write`): its diff
names the graphs that became something else; a commit that moves or explains code leaves it alone.
"""

import hashlib

import ledger
import pytest

ENTRIES = list(ledger.entries())
#: One entry in eight, by its name's hash, so that a new entry moves no other; `slow` has all.
SHARE = [n for n in ENTRIES if hashlib.sha256(n.encode()).digest()[0] % 8 == 0]


#: Models of the share, which take seconds to compile.
MODELS = [n for n in SHARE if n.startswith("models/")]


def targets(name):
    """What an entry is compiled for: a model of the share for one target, in turns; products where there are
    some.
    """
    if name in MODELS:
        turn = MODELS.index(name) % len(ledger.TARGETS)
        return ledger.TARGETS[turn : turn + 1]
    return [t for t in ledger.TARGETS if t[0] != "products" or ledger.of(name, [t])]


pytestmark = [
    pytest.mark.usefixtures("fresh_dynamo", "one_thread"),
    pytest.mark.skipif(ledger.committed()[0] != ledger.header(), reason="the ledger is of other versions"),
]


@pytest.mark.parametrize(
    "name", [n if n in SHARE else pytest.param(n, marks=pytest.mark.slow) for n in ENTRIES]
)
def test_ledger(name):
    assert list(ledger.lines(name, targets(name))) == ledger.of(name, targets(name)) != []


def test_targets_of_models():
    assert {t for n in MODELS for t in targets(n)} == {*ledger.TARGETS}


def test_ledger_names_every_entry_and_nothing_else():
    assert list(dict.fromkeys(line.split(" ", 1)[0] for line in ledger.committed()[1:])) == ENTRIES


def test_a_hash_sees_ir_and_no_place():
    located = '  %0 = "a.b"() {x = 1} : () -> i32 loc(#loc1)\n#loc1 = loc("add"("/home/model.py":3:0))\n'
    moved = located.replace(":3:0", ":9:0").replace("home", "tmp").replace("#loc1", "#loc7")
    assert ledger.without_places(located) == ledger.without_places(moved)
    assert ledger.without_places(located) != ledger.without_places(located.replace("x = 1", "x = 2"))
    assert ledger.without_places('assert(x, "m", "corpus/a.py":3)') == 'assert(x, "m", "PLACE)'
