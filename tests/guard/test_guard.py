"""What an outsider wrote leaves no memory file through a door before the agent was shown it: sessions by chance.

The long run is ``make torture ONLY=guard``; one door alone: ``python -m tests.guard DOOR``.
"""

import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.guard.doors import DOORS, needed
from tests.guard.oracle import Tally

FIXED, BY_CHANCE = 60, 40
OF_PROCESSES = (7, 9, 18, 19, 40, 53)
"""Few, since each starts a process: those of the first sixty that lost text at the pipes while a search lifted the guard."""
HERMES = Path(__file__).parent.parent.parent / ".venv-hermes" / "bin" / "python"


@pytest.mark.parametrize("name", DOORS)
def test_text_that_an_agent_was_not_shown_stays_and_who_is_alone_is_not_refused(name):
    pytest.importorskip(needed(name), reason="NOT TESTED: an extra is not installed")
    tally = Tally(DOORS[name])
    first = FIXED if os.environ.get("CI") else random.randrange(1_000, 1 << 31)
    tally.take(OF_PROCESSES if name == "mcp-process" else [*range(FIXED), *range(first, first + BY_CHANCE)])
    assert not tally.wrong, f"{tally}\n\n{tally.examples(2, 1 if name == 'mcp-process' else 5)}"


def test_the_drop_in_within_hermes_agent(root):
    named = os.environ.get("CATMEM_HERMES_PYTHON", HERMES)
    if not Path(named).exists():
        pytest.skip("NOT TESTED: there is no hermes-agent here; 'make hermes-test' installs it")
    command = [named, "-m", "tests.guard", "drop-in", "--sessions", str(FIXED)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
