"""Which tests are run again by the rotating seed: what reaches the seed, by whatever way, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawing import draws

SEEDS = "from seeds import SEED\n"
BODY = "def test_it():\n    assert SEED\n"
OTHERS = {
    "by a helper": "def help():\n    return SEED\n\ndef test_it():\n    help()\n",
    "by a constant": "ROWS = [SEED, 1]\n\ndef test_it():\n    assert ROWS\n",
    "by parameters": "@pytest.mark.parametrize('n', [SEED])\ndef test_it(n): pass\n",
    "by a fixture": "@pytest.fixture\ndef rng():\n    return SEED\n\ndef test_it(rng): pass\n",
    "by a fixture of all": "@pytest.fixture(autouse=True)\ndef rng():\n    return SEED\n\ndef test_it(): pass\n",
    "below an if": "if True:\n    def test_it():\n        assert SEED\n",
    "by a class": "class Draw:\n    seed = SEED\n\ndef test_it():\n    Draw()\n",
}


@pytest.mark.parametrize("text", [BODY, *OTHERS.values()], ids=["plainly", *OTHERS])
def test_what_reaches_the_seed_draws(tmp_path: Path, text: str) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(f"import pytest\n{SEEDS}\n{text}\n\ndef test_other(): pass\n")
    assert draws(path, "test_it")
    assert draws(path, "test_other") == ("autouse" in text)


@pytest.mark.parametrize(
    "imports",
    [
        "from tests.seeds import SEED",
        "from seeds import SEED as OTHER\nSEED = OTHER",
        "import seeds\nSEED = seeds.SEED",
    ],
)
def test_names_of_the_seed(tmp_path: Path, imports: str) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(f"{imports}\n{BODY}")
    assert draws(path, "test_it")


def test_a_shared_fixture_and_a_helper_of_another_file_are_followed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(f"{SEEDS}\ndef rng():\n    return SEED\n")
    path = tmp_path / "test_some.py"
    path.write_text(
        "import truth_generator as generator\ndef test_fixed(rng): pass\ndef test_it():\n    generator.seed()\n"
    )
    assert draws(path, "test_fixed")
    assert draws(path, "test_it")


def test_a_seed_of_the_files_own_is_no_draw(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(f"SEED = 0\n\n{BODY}")
    assert not draws(path, "test_it")
    path = tmp_path / "test_other.py"
    path.write_text("import os\n\ndef test_it():\n    assert os.environ['BILEVEL_VERIFY_SEED']\n")
    assert draws(path, "test_it")
