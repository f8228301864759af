"""Git, run for what it knows: without any program that the configuration of a repository names."""

from __future__ import annotations

import os
import subprocess


def run_git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git, and no program that the configuration of a repository names: it may have another author.

    To read the attributes of a file, git asks a watcher of the disk for the state of the index, and fetches what is
    missing in a partial clone. Raises ``OSError``.
    """
    options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    return subprocess.run(  # noqa: S603 - git with fixed words and paths
        ["git", *options, *arguments],  # noqa: S607 - the git that the user has
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"},
    )
