"""The library, Anthropic's memory tool and the classes for Hermes Agent: calls in a Python of the build."""

import json
from functools import partial
from pathlib import Path

from tests.same_as.stage import Stage, Story

SCRIPT = Path(__file__).with_name("library_calls.py")
ROOTS = {
    "library": ("sections", "recorded", "conflicts", "waiting", "life", "hostile", "sqlite", "closed", "wrong-config"),
    "anthropic": ("sections", "waiting", "secrets"),
    "hermes": ("sections", "waiting", "bad-profile"),
}


def _play(stage: Stage, what: str) -> None:
    with stage.process("python", "-P", str(SCRIPT), what) as script:
        said, errors = script.communicate()
    for line in said.splitlines():
        answer = json.loads(line)
        stage.note(answer.pop("call"), json.dumps(answer, ensure_ascii=False, indent=1))
    stage.note("the end of the script", f"exit status {script.returncode}\n{errors}")


def stories() -> list[Story]:
    """Each part of the script on some roots."""
    return [
        Story(f"library/{what}/{root}", root, partial(_play, what=what))
        for what, roots in ROOTS.items()
        for root in roots
    ]
