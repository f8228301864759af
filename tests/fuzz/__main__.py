"""``python -m tests.fuzz TARGET [RUNS]``: fuzz one target with atheris, which instruments the package."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzz.seeds import SEEDS

with atheris.instrument_imports(include=["catmem"]):
    from tests.fuzz.targets import TARGETS

name, runs = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "10000000"
corpus = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
for number, seed in enumerate(SEEDS[name]):
    (corpus / str(number)).write_bytes(seed)
atheris.Setup([sys.argv[0], f"-runs={runs}", "-max_len=4096", "-timeout=5", str(corpus)], TARGETS[name])
atheris.Fuzz()
