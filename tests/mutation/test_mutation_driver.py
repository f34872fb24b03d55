"""The driver under its own controls, its operators one by one, and the tables of the rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import mutation_plan as plans
import pytest
from mutation_operators import Module

HERE = Path(__file__).resolve().parent


def changes(text):
    """What the slips make of the (last) line that they touch."""
    module = Module("toy.py", text)
    return [module.diff(mutant)[1] for mutant in module.every]


@pytest.mark.fast
@pytest.mark.parametrize(
    ("line", "slip"),
    [
        ("z = a < b", "z = a <= b"),
        ("z = a >= b", "z = a > b"),
        ("z = a == b", "z = a != b"),
        ("z = a not in b", "z = a in b"),
        ("z = a and b or c", "z = a and b and c"),
        ("z = a and b and c", "z = a and c"),
        ("z = not a", "z = a"),
        ("z = a.lo", "z = a.hi"),
        ("z = a.lower_bound", "z = a.upper_bound"),
        ("z = min(a, b)", "z = max(a, b)"),
        ("z = max(a, b, c)", "z = max(a, c)"),
        ("z = np.maximum(a, b)", "z = b"),
        ("z = weakest(a, b)", "z = weakest(b)"),
        ("z = weakest(a, *b)", "z = weakest(a)"),
        ("z = all(a)", "z = any(a)"),
        ("z = all([a, b])", "z = all([a])"),
        ("z = up(a + b)", "z = (a + b)"),
        ("z = abs(a - b)", "z = (a - b)"),
        ("z = a.absolute()", "z = a"),
        ("z = a + b", "z = a - b"),
        ("z = a / b", "z = a * b"),
        ("z = a ** 2", "z = a * 2"),
        ("z = a & b", "z = a | b"),
        ("z = -a", "z = a"),
        ("z = a[0]", "z = a[1]"),
        ("z = a[1:]", "z = a[2:]"),
        ("z = a[:-1]", "z = a[:]"),
        ("z = a if b else c", "z = c"),
        ("z = [a for a in b if c]", "z = [a for a in b if True]"),
        ("z += a", "z -= a"),
        ("z += a", "pass"),
        ("a.append(b)", "pass"),
        ("z = 'computed'", 'z = "certified"'),
        ("z = 'holds'", 'z = "undecided"'),
        ("z = True", "z = False"),
        ("z = f(a, strict=True)", "z = f(a)"),
        ("def f(a, b=1, *, c=2): z = b, c", "def f(a, b=0, *, c=2): z = b, c"),
        ("def f(a, b=1, *, c=2): z = b, c", "def f(a, b=1, *, c=3): z = b, c"),
        ("for a in (b, c): z = a", "for a in (c, b): z = a"),
        ("while a: break", "while a: pass"),
        ("if a: raise ValueError('no a')", "if a: pass"),
        ("if a: z = b", "if False: z = b"),
        ("def f() -> bool | None: return None", "def f() -> bool | None: return True"),
        ("def f() -> bool | None: return False", "def f() -> bool | None: return None"),
    ],
)
def test_each_operator_makes_its_slip(line, slip):
    assert slip in changes(line)


@pytest.mark.fast
@pytest.mark.parametrize(
    "text",
    [
        '"""At most 1, never min."""',
        "from numpy import min as low",
        "def __repr__(self): return min(a, b)",
        "z: list[bool | None]",
        "def f(a: int | str) -> min: ...",
        'say_once("a", min(a, b))',
        'z = f"{a < b}"',
        "if TYPE_CHECKING: z = 1",
        '__all__ = ["min", "max"]',
        "assert a < b",
        "z = np.zeros_like(a.lo)",
        "z = a.lo.shape",
        "self.name = f(min(a, b))",
        "def f(a=1): ...",
    ],
)
def test_words_for_people_and_types_are_left_alone(text):
    assert not changes(text)


@pytest.mark.fast
def test_a_raise_is_dropped_whole():
    assert changes("raise ValueError(min(a, b))") == ["pass"]


@pytest.mark.fast
def test_a_slip_changes_its_own_bytes_only_also_behind_letters_of_two_bytes():
    text = "z = f('λ') + g('κ')  # ≤\nw = a < b\n"
    module = Module("toy.py", text)
    found = {module.mutated(mutant) for mutant in module.every}
    assert "z = f('λ') - g('κ')  # ≤\nw = a < b\n" in found
    assert "z = f('λ') + g('κ')  # ≤\nw = a <= b\n" in found


@pytest.mark.fast
def test_a_few_a_line_and_the_choice_does_not_move_with_the_file():
    line = "z = [min(a[0], b[0]), max(a[1], b[1]), up(a + b)]"
    alone, below = Module("toy.py", line), Module("toy.py", f"w = 1\n\n{line}")
    assert len(alone.mutants) == 3 < len(alone.every)
    assert [alone.diff(m) for m in alone.mutants] == [below.diff(m) for m in below.mutants if below.line(m) == 3]
    assert len({m.operator for m in alone.mutants}) == 3


@pytest.mark.fast
def test_tables_name_what_is_there_and_equivalents_are_alive_and_few():
    rooms = plans.read_rooms(None)
    equivalents = plans.equivalents_of(rooms)
    alive, counts, named = set(), {}, {path for path, _, _ in equivalents}
    for target in plans.targets_of(rooms):
        planned = plans.plan(target, equivalents)
        if target.path in named:
            alive |= {one.key[:3] for one in plans.plan(target, equivalents, dense=True)}
        total, declared = counts.get(target.room, (0, 0))
        counts[target.room] = total + len(planned), declared + sum(one.reason is not None for one in planned)
        for one in planned[::50]:
            ast.parse(one.source.mutated(one.mutant))
    assert not set(equivalents) - alive, "equivalents that no mutant answers to: remove them or adapt their text"
    assert not {room: pair for room, pair in counts.items() if pair[1] > pair[0] / 10}
    assert plans.slips(plans.targets_of(rooms))


@pytest.mark.fast
def test_a_table_that_is_wrong_is_refused_in_one_line(tmp_path):
    table = {"tests": ["tests/none.py"], "module": [{"path": "bilevel_verify/errors.py"}]}
    with pytest.raises(plans.TableError, match=r"rooms/toy.toml: there is no tests/none.py"):
        plans.targets_of({"toy": table})
    with pytest.raises(plans.TableError, match="has no tests"):
        plans.targets_of({"toy": {"module": table["module"]}})
    entry = {"module": "a.py", "before": "a", "after": "b", "reason": " "}
    with pytest.raises(plans.TableError, match="has no reason"):
        plans.equivalents_of({"toy": {"equivalent": [entry]}})


@pytest.mark.fast
def test_samples_are_spread_over_rooms_and_repeat():
    rooms = plans.read_rooms(None)
    rooms = dict(list(rooms.items())[:3])
    planned = [one for target in plans.targets_of(rooms) for one in plans.plan(target, {})]
    chosen = plans.sample(planned, 50, 7)
    assert [one.key for one in chosen] == [one.key for one in plans.sample(planned, 50, 7)]
    assert [one.key for one in chosen] != [one.key for one in plans.sample(planned, 50, 8)]
    sizes = [sum(one.target.room == room for one in chosen) for room in rooms]
    assert max(sizes) - min(sizes) <= 1


def drive(*words):
    command = [sys.executable, str(HERE / "run.py"), "--tables", str(HERE / "toy" / words[0]), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_controls_everything_is_noticed_or_next_to_nothing_and_red_tests_are_no_judges(tmp_path):
    record = tmp_path / "results.jsonl"
    tight = drive("tight.toml", "--sample", "8", "--json", str(record))
    assert tight.returncode == 0, tight.stdout + tight.stderr
    assert "100.0 %  caught 8 of 8" in tight.stdout
    again = drive("tight.toml", "--sample", "8", "--json", str(record))
    assert "caught 8 of 8" in again.stdout
    assert "true code" not in again.stderr
    assert len(record.read_text().splitlines()) == 8

    loose = drive("loose.toml", "--sample", "8", "--seed", "3")
    assert loose.returncode == 1
    assert loose.stdout.count("SURVIVED tests/mutation/toy/toy_ends.py:") >= 4

    red = drive("red.toml")
    assert red.returncode == 2
    assert "red_toy.py fails on the true code" in red.stderr

    slips = drive("tight.toml", "--slips")
    assert slips.returncode == 0
    assert "CAUGHT tests/mutation/toy/toy_ends.py" in slips.stdout
