"""What programs hold on to changes only on purpose: ``python -m tests.golden.regenerate``, and a look at the difference."""

import json

import pytest

from tests.golden.frozen import FOLDER, FROZEN, text_of


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_is_as_it_was(name, tmp_path):
    was = json.loads((FOLDER / f"{name}.json").read_bytes())
    assert json.loads(text_of(name, tmp_path)) == was
