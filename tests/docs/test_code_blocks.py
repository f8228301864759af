"""Every example of the documentation is run as a reader would run it (conventions: pages.py, console.py)."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
import yaml

from tests.docs.console import Command, Shell, agrees, commands
from tests.docs.pages import ROOT, Example, Page, pages, read

# Languages whose examples are there to be read only; a drawing has none. nginx is run by end_to_end/test_proxy.py.
FREE = {"", "diff", "dockerfile", "html", "ini", "markdown", "nginx", "text", "xml"}
PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


def run_page(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples of a page in order, Python in one namespace, commands in one folder."""
    folder, scratch = tmp_path / "page", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(folder)
    shell = Shell(folder, scratch)
    if "example" in page.directions:
        shell.run("catmem init --example .")
        assert shell.status == 0
    try:
        run_examples(page, folder, shell)
    finally:
        shell.stop()


def run_examples(page: Page, folder: Path, shell: Shell) -> None:
    """Run them."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for example in page.examples:
        place = f"{page.name}:{example.line}"
        if example.direction == "serve":
            shell.serve()
        elif example.direction.startswith("file "):
            write_file(folder, example)
        elif example.direction == "output":
            assert agrees(printed.rstrip("\n"), example.text.rstrip("\n")), f"{place}: it prints\n{printed}"
        elif example.language == "python":
            printed = run_python(example, namespace, ROOT / page.name)
        elif example.language == "console":
            run_console(example, shell, place)
        elif example.language == "json":
            json.loads(example.text)
        elif example.language == "yaml":
            list(yaml.safe_load_all(example.text))
        else:
            assert example.language in FREE, f"{place}: say what language this is, one that the tests know"


def write_file(folder: Path, example: Example) -> None:
    path = folder / example.direction.removeprefix("file ")
    assert path.resolve().is_relative_to(folder.resolve())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(example.text, encoding="utf-8")


def run_python(example: Example, namespace: dict[str, object], path: Path) -> str:
    # The newlines in front put the page's own line numbers into tracebacks.
    code = compile("\n" * example.line + example.text, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code, namespace)  # noqa: S102 - running the page is the point
    return output.getvalue()


def run_console(example: Example, shell: Shell, place: str) -> None:
    found = commands(example.text)
    for number, command in enumerate(found):
        if command.text.startswith("make"):
            check_make(command, place)
        if not command.is_run:
            continue
        printed = shell.run(command.text)
        assert agrees(printed, command.output), f"{place}: $ {command.text}\nprints\n{printed}"
        shown = [after.text for after in found[number + 1 : number + 2]]
        assert shell.status == 0 or shown == ["echo $?"], (
            f"{place}: $ {command.text}\nends with status {shell.status}, and the page does not say so (`$ echo $?`)"
        )


def check_make(command: Command, place: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    asked = [word for word in command.text.split("#")[0].split()[1:] if "=" not in word]
    assert set(asked) <= targets, f"{place}: $ {command.text}: the Makefile has no such target"


def page_of(*lines: str) -> Page:
    return read("made-up.md", "\n".join(lines))


BAD = {
    "python that fails": ["```python", "assert False", "```"],
    "another result": ["```python", "print(5)", "```", "<!-- docs: output -->", "```text", "4", "```"],
    "another output": ["```console", "$ echo a", "b", "```"],
    "output that is not shown": ["```console", "$ echo a", "```"],
    "a status that is not shown": ["```console", "$ (exit 3)", "```"],
    "no such target": ["```console", "$ make coffee", "```"],
    "a language nobody checks": ["```bash", "echo x", "```"],
    "bad JSON": ["```json", "{", "```"],
    "bad YAML": ["```yaml", "a: [", "```"],
    "output without a command": ["```console", "a", "```"],
}


@pytest.mark.parametrize("lines", BAD.values(), ids=BAD)
def test_the_runner_refuses(lines, tmp_path, monkeypatch):
    with pytest.raises((AssertionError, ValueError, yaml.YAMLError)):
        run_page(page_of(*lines), tmp_path, monkeypatch)


def test_an_open_fence_is_refused():
    with pytest.raises(ValueError, match=r"made-up\.md:1"):
        page_of("```python", "x = 1")
