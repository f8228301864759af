"""Write the golden prompts anew: ``python -m tests.golden.regenerate``. Look at the difference before you keep it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.golden.case import STYLES, build, golden_cases, load


def main() -> None:
    for path in golden_cases():
        for style in STYLES:
            with tempfile.TemporaryDirectory() as folder:
                text = build(load(path), Path(folder), style).text
            target = path.with_name(f"{path.stem}.{style}.txt")
            if not target.exists() or target.read_bytes() != text.encode():
                target.write_bytes(text.encode())
                print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
