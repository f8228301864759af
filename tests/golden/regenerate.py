"""Write the golden prompts, and what is frozen for programs, anew: ``python -m tests.golden.regenerate``. Look at the difference before you keep it."""

import os
import tempfile
from pathlib import Path

from tests.golden.case import STYLES, build, golden_cases, load
from tests.golden.frozen import FOLDER, FROZEN, text_of


def main() -> None:
    os.environ["CATMEM_PERSON"] = ""
    for path in golden_cases():
        for style in STYLES:
            with tempfile.TemporaryDirectory() as folder:
                keep(path.with_name(f"{path.stem}.{style}.txt"), build(load(path), Path(folder), style).text)
    for name in FROZEN:
        with tempfile.TemporaryDirectory() as folder:
            keep(FOLDER / f"{name}.json", text_of(name, Path(folder)))


def keep(target: Path, text: str) -> None:
    """Write a golden file if its text is another."""
    if not target.exists() or target.read_bytes() != text.encode():
        target.write_bytes(text.encode())
        print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
