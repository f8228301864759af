"""A prompt case: documents, configuration, profile and day as JSON; how it is read, and what it gives.

``{"documents": {"user": …}, "config": {…}, "profile": {…}, "as_of": "2026-11-21", "style": …}``, where ``config`` and
``profile`` hold what stands in ``catmem.yaml`` and in the profile's file (a text of either is taken as it is).
"""

import json
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from catmem.config.profile import find_profile
from catmem.prompt.prompt import Prompt, build_prompt
from catmem.workspace.workspace import Workspace

FOLDER = Path(__file__).parent
STYLES = ("markdown", "xml", "hermes")


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def golden_cases() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def build(case: dict[str, Any], root: Path, style: str | None = None, **choices: Any) -> Prompt:
    """Write the case's configuration and profile below ``root``, load them, and build the prompt."""
    name = write(case, root)
    workspace = Workspace.open(root, search=False)
    documents = {target: workspace.parse(text) for target, text in case["documents"].items()}
    return build_prompt(
        documents,
        find_profile(workspace.config, name),
        as_of=date.fromisoformat(case["as_of"]),
        config=workspace.config,
        style=style or case.get("style"),
        **choices,
    )


def write(case: dict[str, Any], root: Path) -> str:
    """Write the files of a root; returns the profile's name."""
    name: str = case["profile"].get("name", "reader")
    put(root / "catmem.yaml", yaml.safe_dump(case.get("config", {}), allow_unicode=True))
    put(root / "profiles" / f"{name}.yaml", yaml.safe_dump(case["profile"], allow_unicode=True))
    for target, text in case["documents"].items():
        put(root / "homes" / name / f"{target.upper()}.md", text)
    return name


def contents(folder: Path) -> dict[str, bytes]:
    """What the files below a folder hold, by their path from it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
