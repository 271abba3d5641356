"""The table beside other packages: both sides do the same work, and what is missing is named."""
import contextlib
import re
import sys

import pytest
from benchmarks import _stages, peers


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Each side is measured once: what is tested is that it can be."""
    monkeypatch.setattr(_stages, "TURNS", (1, 1))


@pytest.mark.parametrize("make", [peers.raw_map_existing, peers.custom_gradient])
def test_sides_agree_at_the_smallest_size(make):
    """What needs TensorFlow alone is measured in every stage; sides that do not agree raise."""
    comparison = make()
    seconds = _stages.seconds_in_turn(comparison, comparison.sizes[0])
    assert {side: sorted(stages) for side, stages in seconds.items()} == dict.fromkeys(
        ("ours", "theirs"), [_stages.RUN, _stages.SET_UP, _stages.GRADIENTS])


def test_a_line_of_the_table():
    """Title, size, ratios of three stages and of memory, which is that of processes of their own."""
    line = _stages.row(peers.raw_map, (1000,))
    assert re.match(r"\| TF's map: build under it \| 1e3 ops( \| \d+\.\d\d){4} \| –; – \|$", line), line


def test_sides_that_compute_other_numbers_are_refused():
    """An override beside no override: no figure comes out."""
    unequal = _stages.Comparison("unequal", "ops", (10,), peers.built_under(peers.ours_around),
                                 peers.built_under(contextlib.suppress))
    with pytest.raises(AssertionError, match="unequal"):
        _stages.seconds_in_turn(unequal, 10)


def test_what_cannot_be_imported_is_named(monkeypatch, capsys):
    """And the rest would run."""
    monkeypatch.setitem(sys.modules, "lucid", None)
    peers.main(["lucid"])
    assert re.findall(r"^(\w+): .*lucid", capsys.readouterr().out, re.M) == ["lucid_map", "lucid_use_gradient"]
