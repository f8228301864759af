"""Where fuzzing begins: inputs that reach far into each target."""

from __future__ import annotations

import json
from pathlib import Path

from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.merges import merge_appended

ROOT = Path(__file__).parents[2]


def texts() -> list[bytes]:
    """The inputs of the conformance cases, as bytes."""
    cases = json.loads((ROOT / "tests" / "conformance" / "parse.json").read_text(encoding="utf-8"))
    cases = cases["cases"] if isinstance(cases, dict) else cases
    found = (case.get("input", case.get("text", "")) for case in cases)
    return [text.encode(errors="surrogatepass") if isinstance(text, str) else b"" for text in found]


def segment(folder: Path) -> bytes:
    """The first segment of a small journal."""
    store = FileStore(lambda entity: Place(folder, (), f"{entity}.md"), merge=merge_appended)
    for number in range(40):
        store.commit("USER", None, lambda current, number=number: current.data[-900:] + b"%d\n" % number, Change())
    store.close()
    return next((folder / ".catmem" / "journal").glob("*.log")).read_bytes()


def three(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Three short texts as one input of the target ``merge``."""
    return bytes([len(base), len(ours)]) + base + ours + theirs


def _journal() -> list[bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return [segment(Path(folder))]


SEEDS = {
    "parse": texts(),
    "journal": _journal(),
    "merge": [
        three(b"a\n\xc2\xa7\nb\n", b"a\n\xc2\xa7\nb\n\xc2\xa7\nc\n", b"x\n\xc2\xa7\nb\n"),
        three(b"## A\n[x: 1] a\n", b"## A\n[x: 2] a\n## B\nb\n", b"## B\nb\n\xc2\xa7\nc\n"),
        three(b"", b"```\n\xc2\xa7\n", b"# T\n## A\nx\n"),
    ],
}
