"""The rule on entries that a profile's own prompt leaves out, since its file has sections and they stand in none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.lint.diagnostic import Finding
from catmem.policy.lint.rule import rule
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.linted import Context, LintedRoot


@rule("CM412", "hidden-by-sections", scope="root")
def hidden_by_sections(root: LintedRoot, context: Context) -> Iterator[Finding]:
    """Find entries without a category that the profile's own prompt hides because the file has sections.

    ## Why
    A profile sees the entries of a file without sections. With the first section, which a hand edit, an import or a
    seed may bring, those before it leave its prompt: they have no category, and nobody said that they are to be
    shown. The agent forgets what it wrote down, and nothing says so.

    ## Example
    Bad, when the profile says nothing of `include_uncategorized`:

    ```
    Bins go out on Thursdays.

    ## Food
    Likes tea.
    ```

    Good:

    ```
    ## Home
    Bins go out on Thursdays.

    ## Food
    Likes tea.
    ```

    ## Fix
    Give them a category (`catmem move -p NAME TEXT -c CATEGORY`), or say `include_uncategorized: true` in the profile.
    If they are meant to be hidden, `include_uncategorized: false` says so.
    """
    for path, file in root.files.items():
        profile = context.profiles.get(file.owner or "")
        if profile is None or file.target is None or not file.headers or profile.include_uncategorized is not None:
            continue
        loose = [entry for entry in file.entries if entry.category == UNCATEGORIZED]
        selectors = profile.selectors(file.target, context.taxonomy)
        if not loose or selectors.position(UNCATEGORIZED) is not None or selectors.takes_away(UNCATEGORIZED):
            continue
        entries = "1 entry has" if len(loose) == 1 else f"{len(loose):,} entries have"
        message = (
            f"{entries} no category, and the prompt of {profile.name} leaves out such entries of a file with sections"
        )
        hint = f"Give each one (catmem move -p {profile.name} -t {file.target} TEXT -c CATEGORY), or set "
        hint += "include_uncategorized in the profile."
        yield Finding(loose[0].start, loose[0].end, message, hint, path=path)
