"""Problem files: round trips, data beside the file, everything that must be refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.errors import InputError, ProblemError
from bilevel_verify.problems import (
    Box,
    ProblemFamily,
    bilevel,
    dump,
    load,
    loads,
    save,
    simple_bilevel,
    single_level,
    zoo,
)

TEXT = """
kind = "bilevel"
f = "mean(log(1 + exp(-b[i]*dot(A[i], y))), (i, 0, rows(A)-1))"
g = "dot(y, y)/2 - x1*sum(y)"
x = "x1"
y = "y1 y2"
[domain]
x1 = [-1, "1/3"]
[data]
A = [[1.0, 2.0], [0.5, -0.25]]
b = [1, -1]
"""


def one_line(error):
    """Messages for users are one line."""
    assert "\n" not in str(error)


@pytest.mark.parametrize("entry", [r.name for r in zoo() if not r.extra])
def test_zoo_round_trip(entry):
    problem = zoo(entry)
    again = loads(dump(problem))
    assert again.content_hash() == problem.content_hash()
    assert dict(again.known) == dict(problem.known)
    assert again.start == problem.start
    assert (again.name, again.title, again.source, again.note) == (
        problem.name,
        problem.title,
        problem.source,
        problem.note,
    )


def test_round_trip_of_problems_from_sympy(tmp_path):
    import sympy

    x1, x2 = sympy.symbols("x1 x2", real=True)
    f = (
        sympy.Piecewise((x1**2, (x1 < 1) & (x2 > 0)), (sympy.Abs(x1) ** sympy.Rational(5, 2) + sympy.Max(x1, x2), True))
        + 0.1 * x2
    )
    problem = single_level(
        f=f,
        x=[x1, x2],
        domain={"x1": (None, sympy.sqrt(2)), "x2": (-0.1, 1e-30)},
        title='a "quoted" \\ title\nin two lines\t\x01',
    )
    path = save(problem, tmp_path / "p.toml")
    assert load(path).content_hash() == problem.content_hash()
    assert load(path).title == problem.title


def test_a_set_without_its_name_says_so_whatever_stands_beside():
    text = 'kind = "simple_bilevel"\nf = "x1"\ng = "x1**2"\nx = "x1"\n[feasible]\nkind = "ball"\nradius = 1\n'
    with pytest.raises(ProblemError, match="a table with a field 'set', one of WholeSpace, Ball"):
        loads(text)


def test_round_trip_of_feasible_sets():
    problem = simple_bilevel(f="x1", g="x1**2", x="x1 x2", feasible=Box(lo=[0, -np.inf], hi=[np.inf, 1 / 3]))
    assert loads(dump(problem)).feasible == problem.feasible


def test_inline_data():
    problem = loads(TEXT)
    assert problem.data["A"].shape == (2, 2)
    assert loads(dump(problem)).content_hash() == problem.content_hash()


@pytest.fixture
def folder(tmp_path):
    A, b = np.array([[1.0, 2.0], [0.5, -0.25]]), np.array([1.0, -1.0])
    np.savez(tmp_path / "both.npz", A=A, b=b)
    np.save(tmp_path / "A.npy", A)
    np.savetxt(tmp_path / "A.csv", A, delimiter=",")
    np.savetxt(tmp_path / "b.csv", b, delimiter=",", header="b", comments="")
    np.savez(tmp_path / "bad.npz", A=np.array([[object()]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "nan.npy", np.array([1.0, np.nan]))
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    (tmp_path / "ragged.csv").write_text("1,2\n3\n")
    (tmp_path / "notes.txt").write_text("1")
    (tmp_path / "empty.npz").write_bytes(b"")
    return tmp_path


def with_data(folder, A, b='{file = "both.npz"}', name="p.toml"):
    text = TEXT.split("[data]")[0] + f"[data]\nA = {A}\nb = {b}\n"
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    "A",
    ['{file = "both.npz", key = "A"}', '{file = "both.npz"}', '{file = "A.npy"}', '{file = "A.csv", shape = [2, 2]}'],
)
@pytest.mark.parametrize("b", ['{file = "both.npz"}', '{file = "b.csv", header = true}', "[1, -1]"])
def test_data_beside_the_file(folder, A, b):
    assert load(with_data(folder, A, b)).content_hash() == loads(TEXT).content_hash()


@pytest.mark.parametrize(
    ("A", "fragment"),
    [
        ('{file = "bad.npz"}', "a pickle"),
        ('{file = "nan.npy"}', "NaN"),
        ('{file = "words.csv"}', "could not convert"),
        ('{file = "ragged.csv"}', "columns"),
        ('{file = "notes.txt"}', ".csv, .npy or .npz"),
        ('{file = "missing.npz"}', "cannot be read"),
        ('{file = "empty.npz"}', "not a zip file"),
        ('{file = "both.npz", key = "Z"}', "no key 'Z'"),
        ('{file = "A.csv", shape = [3, 2]}', "shape [2, 2]"),
        ('{file = "../outside.csv"}', "outside the folder"),
        ('{file = "/etc/hostname"}', "outside the folder"),
        ('{flie = "A.csv"}', "must be a list"),
        ("[[1, nan]]", "NaN"),
        ("[[1, 2], [3]]", "rectangular"),
        ('"text"', "array"),
        ("[[1.0, 2.0, 3.0]]", "length"),
    ],
)
def test_bad_data(folder, A, fragment):
    with pytest.raises(InputError) as caught:
        load(with_data(folder, A))
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_outside_is_possible_when_allowed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "A.csv"
    np.savetxt(outside, np.array([[1.0, 2.0], [0.5, -0.25]]), delimiter=",")
    path = with_data(folder, f'{{file = "{outside}"}}')
    with pytest.raises(InputError, match="allow_outside"):
        load(path)
    assert load(path, allow_outside=True).content_hash() == loads(TEXT).content_hash()


def test_a_link_out_of_the_folder_is_outside(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("secret") / "A.csv"
    outside.write_text("1,2\n0.5,-0.25\n")
    (folder / "link.csv").symlink_to(outside)
    with pytest.raises(InputError, match="outside the folder"):
        load(with_data(folder, '{file = "link.csv"}'))


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("not toml at all [", "not TOML"),
        ("", "kind"),
        ('kind = "trilevel"', "kind"),
        ('kind = "single_level"\nx = "x1"', "missing field 'f'"),
        ('kind = "bilevel"\nf = "x1"\nx = "x1"\ny = "y1"', "missing field 'g'"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\ng = "x1"', "unknown field 'g'"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\ndomian = {}', "did you mean 'domain'"),
        ('kind = "single_level"\nf = "x1 + q"\nx = "x1"', "unknown symbol 'q'"),
        ('kind = "single_level"\nf = "x1"\nx = "open"', "reserved"),
        ('kind = "single_level"\nf = "__builtins__"\nx = "x1"', "not a name"),
        ('kind = "single_level"\nf = "9**9**9"\nx = "x1"', "tower"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\n[domain]\nx1 = [nan, 1]', "nan"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\n[knobs]\ns = inf', "finite"),
        ('kind = "single_level"\nf = 3\nx = "x1"\nstart = [nan]', "finite"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\nknobs = 3', "table"),
        ('kind = "single_level"\nf = "x1"\nx = "x1"\ndata = 3', "table"),
        ('kind = "single_level"\nf = 1979-05-27\nx = "x1"', "must be text"),
    ],
)
def test_bad_files(tmp_path, text, fragment):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path)
    assert fragment in str(caught.value)
    assert str(caught.value).startswith("mine.toml")
    assert "\n" not in str(caught.value)


def test_unreadable_files(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'title = "\xff"')
    (tmp_path / "large.toml").write_bytes(b"#" * 9_000_000)
    for name, fragment in [
        ("missing.toml", "cannot be read"),
        ("latin.toml", "UTF-8"),
        ("large.toml", "at most"),
        (".", "not a plain file"),
    ]:
        with pytest.raises(InputError, match=fragment):
            load(tmp_path / name)


def test_a_file_can_be_a_family(tmp_path):
    path = tmp_path / "f.toml"
    path.write_text('kind = "single_level"\nf = "s*x1**2"\nx = "x1"\n[knobs]\ns = "2*eps"\n')
    family = load(path)
    assert isinstance(family, ProblemFamily)
    assert family.at(eps="1/4").f == load(path, s="1/2").f


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_arbitrary_text_is_no_traceback(text):
    try:
        loads(text)
    except InputError as error:
        one_line(error)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats()
    | st.sampled_from(["x1", "y1", "x1**2", "eps", "s", "../a.csv"]),
    lambda c: (
        st.lists(c, max_size=3) | st.dictionaries(st.sampled_from(["x1", "s", "file", "set", "A"]), c, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["f", "g", "x", "y", "domain", "knobs", "data", "define", "start", "known", "feasible", "name", "control"]
        ),
        VALUES,
    ),
    st.sampled_from(["bilevel", "minimax", "single_level", "simple_bilevel"]),
)
@settings(max_examples=300, deadline=None)
def test_arbitrary_tables_are_no_traceback(table, kind):
    from bilevel_verify.problems.files import from_spec

    base = {"f": "x1**2", "x": "x1"} | ({"g": "y1**2", "y": "y1"} if kind == "bilevel" else {})
    base |= {"y": "y1"} if kind == "minimax" else {}
    base |= {"g": "x1**2"} if kind == "simple_bilevel" else {}
    try:
        from_spec({"kind": kind, **base, **table})
    except InputError as error:
        one_line(error)


def test_a_knob_of_the_file_can_be_replaced():
    problem = bilevel(f="y1", g="s*y1**2 - x1*y1", x="x1", y="y1", knobs={"s": 2})
    again = loads(dump(problem), s=3)
    assert again.g.coeff(again.y[0], 2) == 3
