"""What a newcomer does with the installed package, away from the checkout. Run it from an empty folder.

Needs nothing but catmem itself: `python smoke.py`.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import catmem

COMMAND = Path(sysconfig.get_path("scripts")) / "catmem"


def run(*arguments: str, cwd: Path, status: int = 0) -> str:
    """Run the installed command and give back what it prints."""
    print("$ catmem", *arguments)
    result = subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if result.returncode != status:
        sys.exit(f"exit status {result.returncode}, expected {status}\n{result.stdout}{result.stderr}")
    return result.stdout


def check_the_package() -> None:
    installed = Path(catmem.__file__).parent
    assert installed.parent == Path(sysconfig.get_path("purelib")), "this is not the installed package"
    assert (installed / "py.typed").is_file()
    assert list((installed / "data" / "schemas").glob("*.json"))
    assert list((installed / "data" / "profiles").glob("*.yaml"))


def check_the_library() -> None:
    data = (
        "# Notes\n\n## Style\n[verified_date: 2026-05-01] Short answers.\n§\nNo calls.\n\n## Secret\nHidden.\n".encode()
    )
    doc = catmem.parse(data)
    assert doc.to_bytes() == data
    assert [entry.body for entry in doc.by_category["style"]] == ["Short answers.", "No calls."]
    assert doc.by_category["style"][0].tags == {"verified_date": "2026-05-01"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sam.yaml"
        path.write_text("name: sam\ntier: 2\nuser_memory_categories: [style]\n", encoding="utf-8")
        prompt = catmem.build_prompt({"user": doc}, catmem.load_profile(path), as_of=dt.date(2026, 6, 1))
    assert "Short answers." in prompt.text
    assert "Hidden" not in prompt.text


def check_the_command(folder: Path) -> None:
    assert catmem.__version__ in run("--version", cwd=folder)
    run("init", "--example", "team", cwd=folder)
    team = folder / "team"
    text = run("prompt", "trinity", cwd=team)
    assert text.strip()
    assert run("prompt", "trinity", cwd=team) == text, "the same call gave another text"
    assert run("prompt", "trinity", "--root", "team", cwd=folder) == text, "--root gave another text"
    assert text.strip() in json.loads(run("prompt", "trinity", "--format", "json", cwd=team))["text"]
    assert run("prompt", "trinity", "--explain", cwd=team).strip()
    assert catmem.Workspace.open(team).prompt("trinity").text.strip() == text.strip()
    assert run("list", "-p", "orchestrator", cwd=team).strip()
    (file, *_) = sorted(team.glob("homes/*/USER.md"))
    shown = json.loads(run("show", str(file), "--format", "json", cwd=team))
    assert shown["format_version"] == 1
    assert shown["categories"]
    run("prompt", "nobody", cwd=team, status=2)


if __name__ == "__main__":
    check_the_package()
    check_the_library()
    with tempfile.TemporaryDirectory() as temporary:
        check_the_command(Path(temporary))
    print("smoke test passed")
