"""The search itself, on shares that are a formula of the candidate: it finds, repeats, resumes, stops and keeps."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from bilevel_verify.errors import InputError
from bilevel_verify.worst.memory import Memory
from bilevel_verify.worst.screening import Screened, Share
from bilevel_verify.worst.search import SAMPLED, Search


def share(ratio: float) -> Share:
    return Share(ratio, ratio, 1.0, "", "certified")


class Fake(Search):
    """A search whose candidates cost nothing: the share is a function of the point."""

    calls = 0
    function = staticmethod(lambda name, u: {"c": share(1 - float(np.sum((np.asarray(u) - 0.3) ** 2)))})

    def _screen(self, family, u):
        self.calls += 1
        found = self.function(family.name, u)
        return Screened(found, "" if found else "the hypothesis 3.5 <= 7 fails", 2)


def families(*names: str):
    return [SimpleNamespace(name=name, size=lambda with_eps: 3) for name in names]


def search(memory=None, names=("one",), **options) -> Fake:
    return Fake(None, (), families(*names), memory or Memory(None, {}), **options)


def test_it_finds_the_largest_share():
    found = search(most=400)
    found.run()
    assert found.best["c"].share.ratio > 1 - 1e-5
    assert np.allclose(found.best["c"].u, 0.3, atol=0.01)
    assert found.tried <= 400


def test_the_same_seed_is_the_same_search_and_a_longer_one_begins_like_it():
    runs = [search(most=n, seed=s) for n, s in ((150, 1), (150, 1), (300, 1), (150, 2))]
    for one in runs:
        one.run()
    assert runs[0].history == runs[1].history == runs[2].history[:150]
    assert runs[0].history != runs[3].history


def test_a_resumed_search_repeats_nothing_and_goes_on(tmp_path):
    path, whole = tmp_path / "s.jsonl", search(most=200)
    whole.run()
    first = search(Memory(path, {"a": 1}), most=90)
    first.run()
    first.memory.close()
    with path.open("a") as file:
        file.write('{"family": "one", "u": [0.1')  # killed while it wrote
    second = search(Memory(path, {"a": 1}), most=200)
    assert second.memory.found == len(first.memory._known)
    second.run()
    second.memory.close()
    assert second.history == whole.history
    assert second.calls < whole.calls - 60
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_the_state_of_another_search_is_refused(tmp_path):
    Memory(tmp_path / "s.jsonl", {"statement": "a"}).close()
    with pytest.raises(InputError, match="another search"):
        Memory(tmp_path / "s.jsonl", {"statement": "b"})
    (tmp_path / "t.jsonl").write_text("hello\n")
    with pytest.raises(InputError, match="not the state"):
        Memory(tmp_path / "t.jsonl", {})


def test_a_family_that_decides_nothing_is_left_out_where_another_does():
    found = search(names=("empty", "good"), most=300)
    found.function = lambda name, u: {} if name == "empty" else {"c": share(float(u[0]))}
    found.run()
    assert found.best["c"].family.name == "good"
    assert sum(found.skipped.values()) < SAMPLED
    assert found.skipped == {"the hypothesis # <= # fails": sum(found.skipped.values())}


def test_nothing_decisive_ends_by_itself():
    found = search(most=100_000)
    found.function = lambda name, u: {}
    found.run()
    assert found.best == {}
    assert found.tried < 1000


def test_an_interrupt_keeps_the_best_so_far():
    found = search(most=1000)
    plain = Fake.function

    def stopping(name, u):
        if found.calls == 50:
            raise KeyboardInterrupt
        return plain(name, u)

    found.function = stopping
    found.run()
    assert found.interrupted
    assert found.tried == 49
    assert found.best["c"].share.ratio > 0.5


def test_time_ends_a_search():
    found = search(deadline=time.monotonic() - 1)
    found.run()
    assert found.tried == 0
    assert not found.interrupted


def test_every_claim_gets_its_own_candidates():
    found = search(most=600)
    found.function = lambda name, u: {"a": share(float(u[0]) * 0.9), "b": share((1 - float(u[0])) * 0.8)}
    found.run()
    assert found.best["a"].share.ratio > 0.89
    assert found.best["b"].share.ratio > 0.79


def test_a_claim_that_is_attained_is_not_searched_further():
    found = search(most=10_000)
    found.function = lambda name, u: {"c": share(1.0)}
    found.run()
    assert found.tried == SAMPLED


def test_a_broken_bound_is_kept():
    found = search(most=100)
    found.function = lambda name, u: {"c": share(2.0 if u[0] > 0.9 else 0.5)}
    found.run()
    assert found.best["c"].share.ratio == 2.0
