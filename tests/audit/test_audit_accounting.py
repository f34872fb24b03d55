"""What a row of the audit stands for: printed hypotheses or ours, marks, records, and what the totals count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bilevel_verify.audit import audit, tally
from bilevel_verify.audit.findings.coverage import Share, coverage, decided
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.findings.records import with_records
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.cli import main
from bilevel_verify.errors import CardError
from bilevel_verify.proofreading.errata.collecting import script_name
from bilevel_verify.reporting.errata import errata_page
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.reading.reader import read_card

HEAD = """
[paper]
key = "mine"
title = "Mine"
standing = "Section 1"
[units]
F = "values"
[letters]
a = { unit = "F", domain = "(0, oo)", display = "\\\\alpha" }
b = { unit = "F", domain = "(0, oo)" }
n = { unit = "1", domain = "[0, oo)", domain_from = "Section 2" }
kappa = { unit = "1", domain = "[1, oo)" }
[regime]
default = ["kappa >= 1"]
default_from = "Section 1"
"""


def card_of(tmp_path: Path, text: str, head: str = HEAD) -> Card:
    path = tmp_path / "mine.toml"
    path.write_text(head + text, encoding="utf-8")
    return read_card(path)


def findings_of_text(tmp_path: Path, text: str, head: str = HEAD) -> list[Finding]:
    return audit(card_of(tmp_path, text, head), quick=True)


def relations(findings: list[Finding]) -> list[tuple[str | None, str, tuple[str, ...]]]:
    """(claim, verdict, marks) of the rows that judge a relation; marked rows are never as printed."""
    rows = [f.row for f in findings if f.row.judges == "relation"]
    assert all(row.as_printed is not bool(row.marks) for row in rows)
    return [(row.claim, row.verdict, row.marks) for row in rows]


LINK = '[[inequality]]\nid = "one"\nchain = ["a", "<= n*a"]\n'


def test_a_relation_is_judged_without_what_the_card_adds_and_once_more_with_it(tmp_path: Path) -> None:
    assert relations(findings_of_text(tmp_path, LINK + 'added = ["n >= 1"]')) == [
        ("link-1", "refuted", ()),
        ("link-1", "holds", ("added: n >= 1",)),
    ]
    assert relations(findings_of_text(tmp_path, LINK + 'narrowed = { n = "[1, oo)" }')) == [
        ("link-1", "refuted", ()),
        ("link-1", "holds", ("added: n in [1, oo)",)),
    ]


def test_a_printed_hypothesis_is_in_force_in_the_one_row(tmp_path: Path) -> None:
    assert relations(findings_of_text(tmp_path, LINK + 'where = ["n >= 1"]\nwhere_from = "(5)"')) == [
        ("link-1", "holds", ())
    ]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ('where = ["n >= 1"]', "n >= 1"),
        ('where = ["n >= 1", "b >= a"]\nwhere_from = ["", "(5)"]', "n >= 1"),
        ('for = { n = "[1, oo)" }', "n in [1, oo)"),
    ],
)
def test_what_nobody_has_read_is_no_judgement_of_the_print(tmp_path: Path, fields: str, text: str) -> None:
    findings = findings_of_text(tmp_path, LINK + fields)
    assert relations(findings) == [("link-1", "undecided", ()), ("link-1", "holds", (f"added: {text}",))]
    row = next(f.row for f in findings if f.row.judges == "relation")
    assert row.reason == f"origin of the hypothesis not given: {text}"
    assert (row.certainty, row.measured, row.bound) == (None, None, None)


def test_ranges_of_letters_are_hypotheses_too(tmp_path: Path) -> None:
    unread = HEAD.replace('standing = "Section 1"\n', "")
    assert relations(findings_of_text(tmp_path, '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a"]\n', unread)) == [
        ("link-1", "undecided", ()),
        ("link-1", "holds", ("added: a in (0, oo)",)),
    ]
    found = findings_of_text(tmp_path, '[[inequality]]\nid = "one"\nchain = ["n", "<= n + 1"]\n', unread)
    assert relations(found) == [("link-1", "holds", ())]


def test_a_hypothesis_that_does_not_reach_a_link_makes_no_second_row(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a"]\nadded = ["n >= 1"]\nwhere = ["n >= 2"]\n'
    assert relations(findings_of_text(tmp_path, text)) == [("link-1", "holds", ())]


def test_hypotheses_of_settings_are_told_apart_too(tmp_path: Path) -> None:
    settings = '[settings.big]\nparameters = { b = "a" }\n'
    added = settings + 'added = ["n >= 1"]\n' + LINK + 'settings = ["big"]'
    assert [verdict for _, verdict, _ in relations(findings_of_text(tmp_path, added))] == ["refuted", "holds"]
    unread = settings + 'where = ["n >= 1"]\n' + LINK + 'settings = ["big"]'
    assert [verdict for _, verdict, _ in relations(findings_of_text(tmp_path, unread))] == ["undecided", "holds"]
    printed = settings + 'where = ["n >= 1"]\nwhere_from = "(5)"\n' + LINK + 'settings = ["big"]'
    assert [verdict for _, verdict, _ in relations(findings_of_text(tmp_path, printed))] == ["holds"]


def test_a_marked_entry_or_link_has_no_row_as_printed(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a", "<= 3*a"]\n'
    assert relations(findings_of_text(tmp_path, text + 'special = "n = 2"')) == [
        ("link-1", "holds", ("special: n = 2",)),
        ("link-2", "holds", ("special: n = 2",)),
    ]
    assert relations(findings_of_text(tmp_path, text + 'link = { 2 = { part = "one term" } }')) == [
        ("link-1", "holds", ()),
        ("link-2", "holds", ("part: one term",)),
    ]
    both = LINK + 'special = "n = 2"\nadded = ["n >= 1"]'
    assert relations(findings_of_text(tmp_path, both)) == [("link-1", "holds", ("special: n = 2", "added: n >= 1"))]


def test_a_repaired_form_is_marked(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nchain = ["2*a", "<= a"]\n'
    text += '[inequality.repaired]\nchange = "half"\nchain = ["a", "<= a"]'
    assert relations(findings_of_text(tmp_path, text)) == [
        ("link-1", "refuted", ()),
        ("link-1", "holds", ("repaired: half",)),
    ]


def test_vectors_need_no_range(tmp_path: Path) -> None:
    text = '[[step]]\nid = "one"\nvectors = ["u", "v"]\nchain = ["2*dot(u, v)", "<= norm(u)**2 + norm(v)**2"]\n'
    plain = '[paper]\nkey = "mine"\n'
    assert relations(findings_of_text(tmp_path, text, plain)) == [("link-1", "holds", ())]


DERIVATION = '[[derivation]]\nid = "one"\nresult = "kappa"\ngives = "O(1)"\n'


def test_the_regime_of_a_derivation_has_origins(tmp_path: Path) -> None:
    assert relations(findings_of_text(tmp_path, DERIVATION)) == [("derivation", "refuted", ())]
    printed = DERIVATION + 'regime = ["kappa <= 1"]\nregime_from = "(3)"'
    assert relations(findings_of_text(tmp_path, printed)) == [("derivation", "holds", ())]
    added = DERIVATION + 'added = ["kappa <= 1"]'
    assert relations(findings_of_text(tmp_path, added)) == [
        ("derivation", "refuted", ()),
        ("derivation", "holds", ("added: kappa <= 1",)),
    ]
    unread = DERIVATION + 'regime = ["kappa <= 1"]'
    assert relations(findings_of_text(tmp_path, unread)) == [
        ("derivation", "undecided", ()),
        ("derivation", "holds", ("added: kappa <= 1",)),
    ]


MAXIMUM = """
[[derivation]]
id = "one"
regime = ["max(a, 1/b) >= 1"]
regime_from = "(3)"
result = "max(1/a, 1/b)"
gives = "O(1)"
"""


@pytest.mark.parametrize(
    ("ours", "printed", "marked"),
    [
        ("", "undecided", None),  # of a = 1/t it is not certain that it satisfies the maximum
        ('added = ["a >= 1"]', "refuted", "refuted"),  # b = 1/t does, and satisfies the fewer hypotheses too
        ('added = ["b >= 1"]', "undecided", "undecided"),
        ('added = ["a >= 1", "b >= 1"]', "undecided", "holds"),  # what holds under more is not carried over
        ('narrowed = { a = "[1, oo)" }', "undecided", "refuted"),  # a range that nobody compares with the printed one
    ],
)
def test_what_is_refuted_under_more_hypotheses_is_refuted_under_fewer(
    tmp_path: Path, ours: str, printed: str, marked: str | None
) -> None:
    head = HEAD.replace('unit = "F", ', 'unit = "1", ')
    found = relations(findings_of_text(tmp_path, MAXIMUM + ours, head))
    assert [verdict for _, verdict, _ in found] == [printed, *([marked] if marked else [])]
    assert [bool(marks) for _, _, marks in found] == [False, *([True] if marked else [])]


def test_positive_letters_are_no_hypothesis_of_growth(tmp_path: Path) -> None:
    text = '[[derivation]]\nid = "one"\nresult = "{0}"\ngives = "O({0})"\n'
    bare = HEAD.replace('standing = "Section 1"\n', "")
    assert relations(findings_of_text(tmp_path, text.format("a"), bare)) == [("derivation", "holds", ())]
    assert relations(findings_of_text(tmp_path, text.format("kappa"), bare))[0][1] == "undecided"


USES = """
[[lemma]]
id = "used"
{used}
[[lemma]]
id = "user"
uses = ["used"]
{user}
"""


@pytest.mark.parametrize(
    ("used", "user", "verdicts"),
    [
        ('where = ["n >= 1"]\nwhere_from = "(1)"', 'where = ["n >= 2"]\nwhere_from = "(2)"', ["holds"]),
        ('where = ["n >= 1"]\nwhere_from = "(1)"', 'added = ["n >= 2"]', ["undecided"]),
        ('where = ["n >= 1"]\nwhere_from = "(1)"', 'where = ["n >= 2"]', ["undecided"]),
        ('where = ["n >= 1"]', 'where = ["n >= 2"]\nwhere_from = "(2)"', ["undecided"]),
        ('added = ["n >= 1"]', 'where = ["n >= 2"]\nwhere_from = "(2)"', []),
    ],
)
def test_a_used_lemma_is_checked_from_printed_hypotheses_only(
    tmp_path: Path, used: str, user: str, verdicts: list[str]
) -> None:
    findings = findings_of_text(tmp_path, USES.format(used=used, user=user))
    assert [f.verdict for f in findings if f.row.kind == "bookkeeping"] == verdicts


def test_quotations_and_own_displays_are_told_apart(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a"]\n'
    for fields, printed, stated in (
        ("printed = 'x'", "x", None),
        ("stated = 'x'", None, "x"),
        ("", None, r"\alpha \le 2 \alpha"),
    ):
        findings = findings_of_text(tmp_path, text + fields)
        (finding,) = [f for f in findings if f.row.judges == "relation"]
        shown = finding.row.stated.replace("{", "").replace("}", "") if finding.row.stated and not fields else None
        assert finding.printed == printed
        assert (shown or finding.row.stated) == stated or not fields


# --- records ----------------------------------------------------------------------------------------------------------

RECORD = 'refuted = { since = "0.1", why = "wrong" }\n'


def test_a_record_that_the_audit_repeats_is_a_known_refutation(tmp_path: Path) -> None:
    findings = findings_of_text(tmp_path, '[[inequality]]\nid = "one"\nchain = ["2*a", "<= a"]\n' + RECORD)
    assert relations(findings) == [("link-1", "refuted", ())]
    assert all(f.row.known_refuted for f in findings)


def test_a_record_that_the_audit_contradicts_is_open(tmp_path: Path) -> None:
    findings = findings_of_text(tmp_path, '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a"]\n' + RECORD)
    assert relations(findings) == [("link-1", "undecided", ())]
    reason = next(f.row.reason for f in findings if f.row.judges == "relation")
    assert str(reason).startswith("on record as refuted, but: ")


def test_a_record_that_another_check_shows_takes_the_place_of_the_one_link(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nchain = ["a", "<= 2*a + n*a**2/a**2*0"]\n' + RECORD
    card = card_of(tmp_path, text)
    entry = card.entries["one"]
    found = [f for f in findings_of_text(tmp_path, text) if f.row.judges == "relation"]
    link = replace(found[0], row=replace(found[0].row, verdict="holds"))
    units = replace(link, row=replace(link.row, kind="units", verdict="refuted"))
    (one, two) = with_records(card, entry, [link, units])
    assert one == units
    assert (two.row.verdict, two.row.claim, two.row.known_refuted) == ("refuted", "on record", True)
    assert two.row.reason == "on record: wrong (shown by units of link-1)"
    other = replace(link, row=replace(link.row, claim="link-2"))
    assert len(with_records(card, entry, [link, other, units])) == 4


def test_a_record_that_is_not_repeated_stands_as_a_row(tmp_path: Path) -> None:
    text = LINK + 'where = ["n >= 1"]\n' + RECORD
    rows = [f.row for f in findings_of_text(tmp_path, text) if f.row.judges == "relation"]
    assert [(r.claim, r.verdict) for r in rows] == [
        ("link-1", "undecided"),
        ("link-1", "holds"),
        ("on record", "undecided"),
    ]
    assert rows[-1].reason == "on record: wrong (not repeated here)"


def test_a_record_is_repeated_by_a_row_that_says_where_nothing_is_defined(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nby_hand = "a range"\nfor = { n = "[0, oo)" }\nchain = ["1/n", "<= 2/n"]\n'
    rows = [f.row for f in findings_of_text(tmp_path, text + RECORD)]
    (row,) = [row for row in rows if row.claim == "on record"]
    assert row.verdict == "refuted"
    assert row.reason == "on record: wrong (shown by definedness of link-1: defined)"


def test_a_record_of_a_marked_entry_carries_its_counterexample(tmp_path: Path) -> None:
    text = '[[inequality]]\nid = "one"\nletters = "norms"\nchain = ["2*a", "<= a"]\n' + RECORD
    findings = [f for f in findings_of_text(tmp_path, text) if f.row.judges == "relation"]
    assert [(f.row.claim, f.verdict, f.row.as_printed) for f in findings] == [
        ("link-1", "refuted", False),
        ("on record", "refuted", True),
    ]
    assert findings[1].row.reason == "on record: wrong (repeated, but not as printed: letters: norms)"
    assert findings[1].counterexample == {"a": "1"}
    assert findings[1].script


RUN = """
[paper]
key = "mine"
[letters]
L = { domain = "(0, oo)", from = "constants" }
eps = { domain = "(0, oo)", from = "user" }
eta = { domain = "(0, oo)" }
[settings.main.parameters]
eta = "1/L"
[[theorem]]
id = "one"
method = "gradient-descent"
settings = ["main"]
  [[theorem.claim]]
  id = "first"
  over = "run"
  left = "iterations"
  right = "RIGHT"
  printed = 'K\\le1'
  refuted = { since = "0.1", why = "too few", ON }
"""


UNITS = '[units]\nF = "value"\n[letters]\nU = { unit = "F", from = "user" }\n'


def run_card(tmp_path: Path, right: str, on: str) -> Card:
    return card_of(tmp_path, "", RUN.replace("RIGHT", right).replace(", ON", on))


def run_rows(tmp_path: Path, right: str, on: str) -> list[Row]:
    return [f.row for f in audit(run_card(tmp_path, right, on)) if f.row.judges == "relation"]


ON = ', on = "zoo:cosine-sum", eps = 0.01'


def test_the_recorded_counterexample_of_a_run_is_run_again(tmp_path: Path) -> None:
    (row,) = run_rows(tmp_path, "1", ON)
    assert (row.claim, row.verdict, row.known_refuted, row.problem) == ("first", "refuted", True, "cosine-sum")
    assert str(row.reason).startswith("on record: too few; again here: violated")


@pytest.mark.parametrize(
    ("never", "said"),
    [("", "not repeated here"), (', never = "range"', "a letter that the statement prescribes has left its printed")],
)
def test_a_record_without_an_instance_is_not_repeated(tmp_path: Path, never: str, said: str) -> None:
    (row,) = run_rows(tmp_path, "1", never)
    assert (row.verdict, row.known_refuted, row.problem) == ("undecided", True, None)
    assert str(row.reason).startswith("on record: too few (")
    assert str(row.reason).endswith("not repeated here)")
    assert said in str(row.reason)


@pytest.mark.parametrize("quick", [True, False])
def test_a_recorded_instance_may_be_the_table_of_a_problem(tmp_path: Path, quick: bool) -> None:
    problem = '{ kind = "single_level", f = "sin(x1) + x1**2", x = "x1" }'
    (finding,) = [
        f
        for f in audit(run_card(tmp_path, "1", f", on = {problem}, eps = 0.01, x0 = [1]"), quick=quick)
        if f.row.judges == "relation"
    ]
    assert (finding.row.claim, finding.row.verdict, finding.row.problem) == ("first", "refuted", "one-first")
    command = f"bilevel-verify audit {tmp_path / 'mine.toml'} --statement one"
    assert finding.row.reproduce == command + (" --quick" if quick else "")
    shown = {"kind": "single_level", "f": "sin(x1) + x1**2", "x": "x1", "eps": "0.01", "x0": "1"}
    assert finding.counterexample == shown


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (', never = "tired"', "refuted, never: expected one of units, range, not 'tired'"),
        (', on = "zoo:toy-a", never = "units"', "keep one"),
        (", digits = -1", "refuted, digits: expected a whole number of digits"),
        (", digits = true", "refuted, digits: expected a whole number of digits"),
    ],
)
def test_a_wrong_field_of_a_record_is_named(tmp_path: Path, fields: str, said: str) -> None:
    with pytest.raises(CardError, match=said):
        run_rows(tmp_path, "1", fields)


def test_a_table_that_is_no_problem_says_so_and_refutes_nothing(tmp_path: Path) -> None:
    (row,) = run_rows(tmp_path, "1", ', on = { kind = "single_level", x = "x1" }')
    assert (row.verdict, row.problem) == ("undecided", None)
    assert "the recorded problem gives undecided: cannot be run: missing field 'f'" in str(row.reason)


def test_only_units_that_disagree_leave_no_second_row(tmp_path: Path) -> None:
    text = RUN.replace("RIGHT", "U").replace(", ON", ', never = "units"')
    text = text.replace("[letters]\n", UNITS).replace("{ domain", '{ unit = "1", domain')
    findings = audit(card_of(tmp_path, "", text), quick=True)
    assert [(f.row.kind, f.row.verdict, f.row.known_refuted) for f in findings] == [("units", "refuted", True)]


def test_units_that_agree_refute_nothing_whatever_the_record_says(tmp_path: Path) -> None:
    text = RUN.replace("RIGHT", "1").replace(", ON", ', never = "units"')
    rows = [f.row for f in audit(card_of(tmp_path, "", text), quick=True)]
    assert not [row for row in rows if row.verdict == "refuted"]
    (row,) = [row for row in rows if row.known_refuted and row.judges == "relation"]
    assert row.verdict == "undecided"


def test_a_recorded_instance_that_no_longer_refutes_says_what_it_gives(tmp_path: Path) -> None:
    (row,) = run_rows(tmp_path, "10**9", ON)
    assert (row.verdict, row.known_refuted) == ("undecided", True)
    assert str(row.reason).startswith("on record: too few (zoo:cosine-sum gives holds: ")
    (row,) = run_rows(tmp_path, "1", ', on = "zoo:no-such-problem"')
    assert row.verdict == "undecided"
    assert "zoo:no-such-problem gives undecided: cannot be run: " in str(row.reason)


# --- totals -----------------------------------------------------------------------------------------------------------


def test_totals_count_relations_and_show_the_rest_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = card_of(tmp_path, LINK + 'added = ["n >= 1"]\n[[inequality]]\nid = "two"\nchain = ["a", "<= 2*a"]')
    findings = audit(card, quick=True)
    assert tally(f.row for f in findings) == {"refuted": 1, "holds": 2}
    assert main(["audit", str(card.path), "--quick", "--json", "--jobs", "1"]) == 1
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["as_printed"] == {"refuted": 1, "holds": 1}
    assert counts["marked"] == {"added": {"holds": 1}}
    assert counts["apart"] == {"units": {"agree": 2}}
    main(["audit", str(card.path), "--quick", "--jobs", "1"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 refuted, 2 holds (2 proved); of these added: 1 holds; units: 2 agree" in shown
    assert "[added: n >= 1]" in shown


def test_the_share_is_rounded_down() -> None:
    assert str(Share(773, 776)) == "773 of 776 scalar links and derivations decided (99 %)"
    assert str(Share(776, 776)).endswith("(100 %)")
    assert str(Share(0, 0)) == "no scalar links or derivations to decide"


def test_only_rows_as_printed_are_decided(tmp_path: Path) -> None:
    text = LINK + 'added = ["n >= 1"]\n[[inequality]]\nid = "two"\nspecial = "n = 2"\nchain = ["a", "<= 2*a"]'
    share = decided(f.row for f in findings_of_text(tmp_path, text))
    assert (share.decided, share.total) == (1, 1)


@pytest.mark.parametrize(
    ("define", "chain"),
    [
        ('kappa = "b/a"', '["kappa*a**2", "<= b*a"]'),
        ('kappa = "b/a"', '["a", "<= b"]'),
        ('n = "kappa - 2"', '["2", "<= kappa"]'),
    ],
)
def test_what_a_letter_is_defined_by_lies_in_its_printed_range(tmp_path: Path, define: str, chain: str) -> None:
    text = f'[[inequality]]\nid = "one"\ndefine = {{ {define} }}\ndefine_from = "(1)"\nchain = {chain}\n'
    rows = [f.row for f in findings_of_text(tmp_path, text) if f.row.judges == "relation" and f.row.as_printed]
    assert [row.verdict for row in rows] == ["holds"]


def test_coverage_counts_a_define_that_may_leave_the_range_of_its_letter(tmp_path: Path) -> None:
    text = """
[[inequality]]
id = "defined"
source = "(1)"
define = { n = "kappa - 3/2" }
define_from = "(1)"
chain = ["n", "<= kappa"]
"""
    card = card_of(tmp_path, text)
    rows = [f.row for f in audit(card, quick=True)]
    assert [(r.kind, r.verdict) for r in rows if not r.as_printed] == [("definedness", "undecided")]
    (line,) = coverage(card, rows)
    assert line.verdicts["definedness, added"] == {"undecided": 1}


def test_coverage_has_words_of_its_own_for_units_and_marks(tmp_path: Path) -> None:
    card = card_of(tmp_path, LINK + 'added = ["n >= 1"]\n')
    (line,) = coverage(card, [f.row for f in audit(card, quick=True)])
    assert line.verdicts == {"units": {"agree": 1}, "inequality": {"refuted": 1}, "inequality, added": {"holds": 1}}
    assert line.shown == "units: 1 agree; inequality: 1 refuted; inequality, added: 1 holds"


def test_an_entry_on_record_shows_holds_nowhere(tmp_path: Path) -> None:
    card = card_of(tmp_path, '[[inequality]]\nid = "one"\nchain = ["2*a", "<= a", "<= 3*a"]\n' + RECORD)
    (line,) = coverage(card, [f.row for f in audit(card, quick=True)])
    assert line.verdicts["inequality"] == {"refuted": 1, "kept here": 1}


def test_the_errata_page_begins_with_what_is_on_record(tmp_path: Path) -> None:
    text = (
        '[[inequality]]\nid = "new"\nchain = ["2*a", "<= a"]\n[[inequality]]\nid = "known"\nchain = ["3*a", "<= a"]\n'
        + RECORD
        + LINK.replace('"one"', '"beside"')
        + "stated = 'S'\nadded = [\"n >= 1\"]\n"
    )
    card = card_of(tmp_path, text)
    findings = audit(card, quick=True)
    page = errata_page(card, findings, coverage(card, [f.row for f in findings]))
    assert page.index('id="erratum--known') < page.index('id="erratum--new') < page.index('id="erratum--beside')
    assert "(as we read it)" in page
    assert page.index("<h2>Contents") < page.index("<section") < page.index("<h2>What was judged"), (
        "statistics come last"
    )
    again = replace(findings[0].row, verdict="refuted", as_printed=False, marks=("reading: C",), known_refuted=True)
    rows = [Finding(replace(again, reason="on record: wrong")), Finding(replace(again, claim="other", reason="broken"))]
    read = errata_page(card, rows, ())
    assert read.count("<section") == 1
    names = [script_name(f) for f in findings if f.script]
    assert len(set(names)) == len(names)
