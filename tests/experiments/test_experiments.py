"""Experiments from the command line: sheets, runs that resume, reports, data that are not there; secular equations."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
import pickle
import re
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bilevel_verify.campaign import sources
from bilevel_verify.campaign.fingerprint import EXPERIMENT
from bilevel_verify.cli.main import main
from bilevel_verify.errors import InputError, MissingExtraError
from bilevel_verify.experiments.data import MissingDataError, corrupted, digest_of, labelled, ratings
from bilevel_verify.experiments.files import FOLDER, experiment, letters_of, names, read
from bilevel_verify.experiments.ground_truth import least_squares_on_ball
from bilevel_verify.experiments.instances import instance
from bilevel_verify.experiments.running import Search, cell_of
from bilevel_verify.experiments.work import calls_of_one
from bilevel_verify.experiments.work import run as run_entry
from bilevel_verify.methods import METHODS

Array = NDArray[Any]
TINY = ("fsba-ablation-m", "ragd-gs-tuning")
"""Most of their time is compiling; ``tests/thorough`` has all sheets at small size."""
CONSTANTS = {"L_f": 1.0, "L_g": 2.0, "b_size": 1.0, "L1": 1.0, "mu": 0.1}


def test_two_experiments_run_resume_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["experiments", *TINY, "--size", "tiny", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.count("## ") >= 2
    (data,) = [d for d in json.loads((tmp_path / "data.json").read_text()) if d["name"] == "ragd-gs-tuning"]
    scores = [point["score"] for run in data["runs"] for point in run["tuning"]]
    assert None in scores, "a point that diverges is a row"
    for run in data["runs"]:
        assert any(point["score"] is not None for point in run["tuning"])
        assert all(seed["calls"] == sum(seed["counts"].values()) for seed in run["seeds"])
        assert all(row["calls"] <= 130 for seed in run["seeds"] for row in seed["curve"])
        assert all(row["calls"] == sum(row["counts"].values()) for seed in run["seeds"] for row in seed["curve"])
    assert {claim["verdict"] for claim in data["claims"]} <= {
        "supported",
        "not supported",
        "reversed",
        "not comparable",
    }
    assert (tmp_path / "fsba-ablation-m.svg").stat().st_size > 5_000
    drawn = set(re.findall(r">([^<>]+)</text>", (tmp_path / "ragd-gs-tuning.svg").read_text(encoding="utf-8")))
    kinds = {kind for run in data["runs"] for seed in run["seeds"] for kind in seed["counts"]}
    assert {f"calls of {kind}" for kind in kinds} <= drawn
    assert {"oracle calls", "seconds on this machine", "validation", "accuracy"} <= drawn
    capsys.readouterr()
    assert main(command) == 0
    assert "runs of this round" not in capsys.readouterr().err  # nothing was run again
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == text


def test_sheets_name_methods_and_letters_that_exist() -> None:
    assert len(names()) >= 13
    for name in names():
        one = experiment(name)
        for entry in one.entries.values():
            known = {letter.name for letter in METHODS[entry.method].letters}
            knobs = {knob: values[0] for knob, values in entry.grid.items()}
            letters = letters_of(entry, knobs, CONSTANTS)
            assert set(entry.letters) <= known, (name, entry.name)
            assert {n for n in known if n in letters} == set(letters) & known
            used = " ".join(str(v) for v in entry.letters.values())
            for knob in knobs:
                assert knob in known or knob in used, (name, entry.name, knob)
        assert {"small", "paper"} <= set(one.size)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('problem = "minimax"', 'problem = "maximin"', "problem must be one of"),
        ('kind = "faster"', 'kind = "nicer"', "kind of a claim"),
        ('than = ["imcn"]', 'than = ["incm"]', "a claim names 'incm'"),
        ('measure = "gap"', 'measures = "gap"', "unknown field 'measures'"),
        ("[size.small]", "[size.small]\nseed = 3", "unknown field 'seed'"),
        ('open = ["L", ', 'open = ["l", ', "open names 'l'"),
        ('measure = "gap"', 'measure = "validation"', "needs retrain = true"),
        ("[methods.pragda]", "[size.paper.lists]\neta = [0.02]\n[methods.pragda]", "eta = 0.02 is not in the list of"),
        ("[methods.pragda]", "[size.paper.lists]\nets = [0.01]\n[methods.pragda]", "lists names 'ets'"),
    ],
)
def test_wrong_sheets_are_refused_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (FOLDER / "rahgd-minimax.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_names_and_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiments", "ragd-gs-tunin"]) == 2
    assert "did you mean 'ragd-gs-tuning'" in capsys.readouterr().err
    assert main(["experiments", "ragd-gs-tuning", "--data", "/nowhere"]) == 2
    assert "--data" in capsys.readouterr().err
    assert main(["experiments"]) == 0
    listed = capsys.readouterr().out
    assert "restarted-completion" in listed
    assert main(["experiments", "list"]) == 0
    assert capsys.readouterr().out == listed


@pytest.mark.parametrize(
    ("name", "file", "synthetic"),
    [
        ("ragd-gs-hypercleaning", "train-images-idx3-ubyte", "clusters"),
        ("restarted-completion", "ratings.dat", "low-rank"),
        pytest.param(
            "rahgd-tuning",
            "fetch_20newsgroups_vectorized",
            "documents",
            marks=pytest.mark.skipif(find_spec("sklearn") is None, reason="extra: data"),
        ),
    ],
)
def test_missing_data_are_said_in_one_line_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, file: str, synthetic: str
) -> None:
    out = tmp_path / "out"
    assert main(["experiments", name, "--size", "paper", "--data", str(tmp_path), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert file in line
    assert "--data DIR" in line
    assert repr(synthetic) in line
    assert not out.exists()
    assert main(["experiments", name, "--data", str(tmp_path), "--out", str(out)]) == 2
    assert "leave it out" in capsys.readouterr().err
    assert experiment(name).size["paper"].data_at(None)["set"] == synthetic
    assert experiment(name).size["paper"].data_at(str(tmp_path))["set"] != synthetic


def test_without_scikit_learn_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    command = [
        "experiments",
        "rahgd-tuning",
        "--size",
        "paper",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "bilevel-verify[data]" in line


def test_what_decides_a_run_is_part_of_its_key() -> None:
    root, wanted, seen = FOLDER.parents[1], ["experiments.work"], set()
    while wanted:
        module = wanted.pop()
        seen.add(module)
        text = (root / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        wanted += [m for m in re.findall(r"bilevel_verify\.(experiments[\w.]*)", text) if m not in {*seen, *wanted}]
    parts = {module.replace(".", "/") for module in seen}
    assert {"experiments/work", "experiments/instances", "experiments/models/links"} <= parts
    assert not [part for part in parts if not part.startswith(EXPERIMENT)]


def test_words_of_a_sheet_are_no_part_of_the_key_and_letters_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "EXPERIMENTS", tmp_path)
    text = (FOLDER / "rahgd-minimax.toml").read_text(encoding="utf-8")
    found = []
    for place, (old, new) in enumerate(
        [
            ("", ""),
            ('sentence = "our ', 'sentence = "their '),
            ("seeds = 8", "seeds = 9"),
            ('open = ["eta_x"', 'open = ["eta_y"'),
            ("alpha = 0.05", "alpha = 0.06"),
            ("calls = 3000", "calls = 3001"),
            ("start = [0, 0, 1]", "start = [0, 0, 2]"),
            ('measure = "gap"', 'measure = "other"'),
        ]
    ):
        assert old in text
        (tmp_path / f"s{place}.toml").write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
        found.append(sources.problem_fingerprint(f"experiment:s{place}"))
    assert found[:4] == [found[0]] * 4
    assert len(set(found[3:])) == 5
    with pytest.raises(InputError, match="no such experiment"):
        sources.problem_fingerprint("experiment:none")


def test_files_of_the_user_are_part_of_the_key(tmp_path: Path) -> None:
    one = experiment("restarted-completion")
    search = Search(one, "paper", "", one.entries["gradient-descent"])
    keys = []
    for text in ("1::2::3::0", "1::2::4::0"):
        (tmp_path / "ratings.dat").write_text(text, encoding="utf-8")
        digest_of.cache_clear()
        keys.append(cell_of(search, search.best, 1, str(tmp_path)).content)
    assert len({*keys, cell_of(search, search.best, 1, None).content}) == 3


def test_a_size_may_name_the_values_that_are_tried_and_how_densely_is_measured() -> None:
    one = experiment("restarted-completion")
    small, paper = (
        Search(one, size, "", one.entries["gradient-descent"]).values()["eta"] for size in ("small", "paper")
    )
    assert set(small) | set(paper) == set(one.entries["gradient-descent"].grid["eta"])
    assert not set(small) & set(paper)
    assert paper == (256, 1024, 4096, 16384)
    known, entry = (
        instance("fsba-ablation-m", "tiny", "x3 = 1", 1, None),
        experiment("fsba-ablation-m").entries["lmcn-2"],
    )
    size = experiment("fsba-ablation-m").size["tiny"]
    dense, thin = (run_entry(known, entry, dataclasses.replace(size, growth=g), {}, 1)["curve"] for g in (1.0, 2.0))
    assert len(thin) < len(dense) / 2
    assert all(b["calls"] >= 2 * a["calls"] for a, b in itertools.pairwise(thin[:-1]))


def test_calls_are_divided_among_iterations_that_are_alike() -> None:
    piece = ["g", "f", "f"]
    assert calls_of_one(piece * 4, 4) == 3
    assert calls_of_one([*piece * 4, "g", "f"], 4) == 3, "a fifth that was cut short"
    assert calls_of_one(piece * 5, 4) == 3
    assert calls_of_one(["f", "g", "f", *piece * 3], 4) is None
    assert calls_of_one([*piece * 3, "f", "f", "g"], 4) is None
    assert calls_of_one(["f", "f", "f", *piece * 3], 3) is None
    assert calls_of_one(["f"] * 12, 4) is None
    assert calls_of_one(piece, 0) is None
    known = instance("agm-bio-regression", "small", "", 1, None)
    one = experiment("agm-bio-regression")
    curves = {
        name: run_entry(known, one.entries[name], dataclasses.replace(one.size["small"], calls=60), {}, 1)["curve"]
        for name in ("agm-bio", "cg-bio")
    }
    assert [row["calls"] for row in curves["agm-bio"]][:3] == [1, 5, 10]
    assert len(curves["cg-bio"]) == 1, "its calls come before its first iteration"
    assert curves["cg-bio"][0]["calls"] >= 60


def test_the_page_says_what_the_print_leaves_open() -> None:
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    for name in names():
        one = experiment(name)
        assert f"**`{name}`** ({one.paper}, {one.section}): {one.title}." in page
        assert not [choice for choice in one.open if f"* {choice}\n" not in page]
        letters = [f"{e.name}: {', '.join(e.open)}" for e in one.entries.values() if e.open]
        assert not letters or f"* not printed for these data, or a list of ours: {'; '.join(letters)}\n" in page


def test_files_of_the_user(tmp_path: Path) -> None:
    sizes = {"train": 3, "valid": 2, "test": 1}
    with pytest.raises(MissingDataError, match=r"train-images-idx3-ubyte.*--data DIR.*'clusters'"):
        labelled({"set": "mnist", **sizes}, 0, tmp_path)
    images, labels = np.arange(24, dtype=np.uint8).reshape(6, 2, 2), np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)
    for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        raw = b"\0\0\x08" + bytes([array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()
        (tmp_path / f"train-{kind}.gz").write_bytes(gzip.compress(raw, mtime=0))
    found = labelled({"set": "mnist", **sizes}, 0, tmp_path)
    rows = np.vstack([found.train[0], found.valid[0], found.test[0]])
    whole = np.column_stack([images.reshape(6, 4) / 255.0, np.ones(6)])
    np.testing.assert_array_equal(np.sort(rows[:, 0]), np.sort(whole[:, 0]))
    assert found.classes == 3
    (tmp_path / "ratings.dat").write_text("7::30::5::1\n9::10::2::1\n7::10::3.5::1\n", encoding="utf-8")
    matrix, _ = ratings({"set": "movielens"}, 0, tmp_path)
    np.testing.assert_array_equal(matrix.toarray(), [[3.5, 5.0], [2.0, 0.0]])
    (tmp_path / "ratings.dat").write_text("7::30::5::1\n9::ten::2::1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"ratings\.dat: a line without user"):
        ratings({"set": "movielens"}, 0, tmp_path)
    with pytest.raises(InputError, match="no set 'mnits'"):
        labelled({"set": "mnits", **sizes}, 0, None)
    with pytest.raises((InputError, MissingExtraError), match=r"20 Newsgroups|data\]"):
        labelled({"set": "20newsgroups", **sizes}, 0, tmp_path)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="extra: data")
def test_newsgroups_of_the_user_are_read_by_the_loader_of_scikit_learn(tmp_path: Path) -> None:
    from sklearn.utils import Bunch

    texts = ["red red green", "blue", "green blue blue", "red", "green green red", "blue red"]
    parts = {
        part: Bunch(
            data=texts[where], target=np.array([0, 1, 1]), target_names=["a", "b"], filenames=np.array(["x", "y", "z"])
        )
        for part, where in (("train", slice(3)), ("test", slice(3, 6)))
    }
    packed = zlib.compress(pickle.dumps(parts))
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(packed)
    found = labelled({"set": "20newsgroups", "train": 3, "valid": 2, "test": 1}, 0, tmp_path)
    rows = np.vstack([part[0].toarray() for part in (found.train, found.valid, found.test)])
    counts = np.array([[text.split().count(word) for word in ("blue", "green", "red")] for text in texts], dtype=float)
    known = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    np.testing.assert_allclose(sorted(map(tuple, rows)), sorted(map(tuple, known)), rtol=1e-12)
    assert found.classes == 2
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(packed[:-20])
    for kept in tmp_path.glob("20newsgroup_*"):
        kept.unlink()
    with pytest.raises(InputError, match="damaged"):
        labelled({"set": "20newsgroups", "train": 3, "valid": 2, "test": 1}, 0, tmp_path)


def _idx(array: Array) -> bytes:
    sizes = b"".join(n.to_bytes(4, "big") for n in array.shape)
    return b"\0\0\x08" + bytes([array.ndim]) + sizes + array.astype(np.uint8).tobytes()


IMAGES, LABELS = _idx(np.arange(24).reshape(6, 2, 2)), _idx(np.arange(6))


@pytest.mark.parametrize(
    ("images", "labels", "packed", "said"),
    [
        (gzip.compress(IMAGES, mtime=0)[:-9], gzip.compress(LABELS, mtime=0), True, "no whole gzip file"),
        (IMAGES, LABELS, True, "no whole gzip file"),
        (
            gzip.compress(IMAGES, mtime=0)[:20] + b"\xff" * 40,
            gzip.compress(LABELS, mtime=0),
            True,
            "no whole gzip file",
        ),
        (IMAGES[:7], LABELS, False, "cut short or too long"),
        (IMAGES[:-1], LABELS, False, "cut short or too long"),
        (IMAGES + b"1", LABELS, False, "cut short or too long"),
        (b"", LABELS, False, "with 3 dimensions"),
        (b"\0\0\x0d" + IMAGES[3:], LABELS, False, "no IDX file of bytes"),
        (LABELS, IMAGES, False, "with 3 dimensions"),
        (IMAGES, _idx(np.arange(5)), False, "5 labels for 6 images"),
        (IMAGES, _idx(np.arange(6) + 5), False, "label 10 is no digit"),
        (_idx(np.zeros((0, 2, 2))), _idx(np.zeros(0)), False, "no images"),
        (IMAGES, LABELS, False, "mnist has 6 rows; train + valid + test is 35000"),
    ],
)
def test_damaged_images_are_said_in_one_line_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], images: bytes, labels: bytes, packed: bool, said: str
) -> None:
    for kind, raw in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        (tmp_path / f"train-{kind}{'.gz' if packed else ''}").write_bytes(raw)
    _refused(tmp_path, "rahgd-hypercleaning", said, capsys)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ratings.dat", "", "no ratings"),
        ("ratings.dat", "1::2\n3::4\n5::6\n", "a line without user, movie, rating and time"),
        ("ratings.dat", "1::2::3\n", "a line without user, movie, rating and time"),
        ("ratings.dat", "1::2::nan::0\n", "not between 0.5 and 5"),
        ("ratings.dat", "1::2::0::0\n", "not between 0.5 and 5"),
        ("ratings.dat", "1::2::6::0\n", "not between 0.5 and 5"),
        ("ratings.dat", "1::2::3::0\n1::2::4::0\n", "1 ratings are of a user and a movie again"),
        ("ratings.dat", "1::2::3::0\n2::3::4::0\n", "rank 10 needs more rows and columns"),
        ("ratings.csv", "1,2,3,0\n", "the first line is not userId,movieId,rating,timestamp"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,good,0\n", "a line without user"),
    ],
)
def test_damaged_ratings_are_said_in_one_line_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    _refused(tmp_path, "restarted-one-bit", said, capsys)


def _refused(folder: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out"
    assert main(["experiments", name, "--size", "paper", "--data", str(folder), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not out.exists()


def test_disturbed_labels() -> None:
    labels = np.repeat(np.arange(5), 40)
    noisy, wrong = corrupted(labels, 5, 0.25, 3)
    assert wrong.sum() == 50
    assert np.array_equal(noisy != labels, wrong)
    assert set(noisy) == set(range(5))


def test_seeded_sets_have_the_printed_shape() -> None:
    spec = {"set": "documents", "train": 40, "valid": 30, "test": 30, "features": 500, "classes": 4, "words": 20}
    found = labelled(spec, 1, None)
    assert found.train[0].shape == (40, 500)
    np.testing.assert_allclose(found.train[0].multiply(found.train[0]).sum(axis=1), 1.0)
    counts = np.sort(np.asarray((found.train[0] != 0).sum(axis=0)).ravel())[::-1]
    assert counts[0] > 10 * max(np.median(counts), 1)
    matrix, _ = ratings(
        {"set": "low-rank", "rows": 30, "columns": 20, "entries": 200, "rank": 2, "noise": 0.0}, 1, None
    )
    assert matrix.shape == (30, 20)
    assert matrix.nnz == 200
    assert len(set(zip(*matrix.nonzero()))) == 200


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_secular_equations_against_a_general_solver(scale: float) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(4)
    A, C, d = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=5)
    b = scale * A @ rng.normal(size=6) / 3
    found = least_squares_on_ball(A, b, C, d, 1.0)
    z = cp.Variable(6)
    lower = cp.Problem(cp.Minimize(cp.sum_squares(A @ z - b) / 2), [cp.norm(z) <= 1])
    lower.solve(solver="CLARABEL")
    assert abs(found.g_star - lower.value) < 1e-6
    if found.multiplier == 0:
        upper = cp.Problem(cp.Minimize(cp.sum_squares(C @ z - d) / 2), [cp.norm(z) <= 1, A @ z == A @ found.x])
        upper.solve(solver="CLARABEL")
        assert abs(found.f_star - upper.value) < 1e-5
