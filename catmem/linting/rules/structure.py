"""Rules on the lines of a memory file: encoding, line ends, fences, delimiters and section headers.

A file that cannot be read is here too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from catmem.config.access import meant_category, undeclared_sections, visible_categories
from catmem.errors import NotUtf8Error
from catmem.linting.linted import Context, LintedEntry, LintedFile
from catmem.linting.rule import Finding, Fix, Related, rule
from catmem.model.document import Document, Section, unclosed
from catmem.model.edit import TextEdit, apply_edits
from catmem.model.slips import closed_places, entry_at, heading_slips, lines_with
from catmem.names import UNCATEGORIZED
from catmem.text import conflict_at

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+|<!--)")
_DECORATED = re.compile(r"[-=*_~#>|.:+§ \t]*+")


@rule("CM101", "unclosed-fence", fixes="unsafe")
def unclosed_fence(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find code fences and comments that are not closed before their entry ends."""
    document = file.document
    closed: set[int] = set()
    for problem in unclosed(document):
        entry, opening, fix = entry_at(file.entries, problem.start), _FENCE.match(document.text, problem.start), None
        # One at a time: the closing line of the first may hide the others.
        if opening is not None and entry is not None and entry.start not in closed:
            closing = "-->" if opening[1] == "<!--" else opening[1]
            edit = TextEdit(entry.end, entry.end, f"{document.newline}{closing}")
            fix = Fix((edit,), safe=False, message="Close it at the end of the entry")
        closed.update([entry.start] if entry else ())
        yield Finding(problem.start, problem.end, problem.message, "Close it, or take its first line out.", fix)


@rule("CM105", "near-miss-delimiter", fixes="unsafe")
def near_miss_delimiter(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find lines that look like a delimiter and are none."""
    document, text = file.document, file.document.text
    if text.count("§") == len(document.scan.newlines):
        return
    newline, closed = document.newline, closed_places(document)
    for start, line in lines_with(text, "§"):
        new = _meant(line, newline)
        if new is not None and not closed(start):
            end = start + len(line)
            fix = Fix((TextEdit(start, end, new),), safe=False, message="Put the § on a line of its own")
            message = "this looks like a delimiter line and is text of an entry"
            yield Finding(start, end, message, "A delimiter line holds § alone, with nothing before it.", fix)


def _meant(line: str, newline: str) -> str | None:
    """What a line that holds ``§`` was meant to be, if it was meant to be a delimiter and is none."""
    before, _, after = line.partition("§")
    if before.startswith("\\") or (not before and not after):
        return None
    if _DECORATED.fullmatch(before + after):
        return "§"
    text = after.strip()
    if not before.strip() and after[:1].isspace() and text and not text[0].isdigit():
        return f"§{newline}{text}"
    if not after and before[-1:].isspace():
        return f"{before.rstrip()}{newline}§"
    return None


@rule("CM113", "unfinished-merge", severity="error")
def unfinished_merge(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find the markers that git leaves in a file where a merge was not finished."""
    text = file.document.text
    start = conflict_at(text)
    if start is not None:
        end = text.find("\n", start)
        yield Finding(start, end, "git left an unfinished merge here", "Keep one version; take the marker lines out.")


@rule("CM192", "unreadable", severity="error")
def unreadable(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find memory files that cannot be read: not UTF-8, no permission, too large, no regular file, or gone by now."""
    error = file.error
    if isinstance(error, NotUtf8Error):
        start = len(file.data[: error.offset].decode("utf-8", "replace"))
        yield Finding(start, start + 1, error.message, error.hint or "")
    elif error is not None:
        yield Finding(0, 0, f"cannot be read: {error.message}", error.hint or "")


# --- rules on section headers: repeated, unknown, empty ones, and what looks like one --------------------------------


_MOST_READINGS = 20


@rule("CM102", "duplicate-section", fixes="safe")
def duplicate_section(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find sections whose category has a section above already."""
    if len(file.headers) == len({header.category for header in file.headers}):
        return
    first: dict[str, Section] = {}
    joined: set[str] = set()
    for section in file.document.sections:
        before = first.setdefault(section.category, section)
        if before is section:
            continue
        # One section of a category at a time, so that their order stays; the others in the next round. And only a few,
        # as the file is read again to show that a fix changes nothing else.
        may_join = section.category not in joined and len(joined) < _MOST_READINGS
        fix = _join(file, before, section) if may_join else None
        joined.add(section.category)
        message = f"a second section of category {section.category}; the first is on line {file.line(before.start)}"
        related = Related(file.path, before.start, before.header_end, "the first section is here")
        yield Finding(
            section.start, section.header_end, message, "Put its entries into the first.", fix, related=(related,)
        )


def _join(file: LintedFile, first: Section, second: Section) -> Fix | None:
    document, text, newline = file.document, file.text, file.document.newline
    moving = _inside(file, second)
    moved = f"{newline}§{newline}".join(entry.raw for entry in moving)
    start, end = second.start, second.end
    if end == len(text):
        # The blank lines above the header would be left over.
        start = text.index("\n", len(text[:start].rstrip())) + 1
        if not text.endswith("\n"):
            start -= len("\r\n") if text.endswith("\r\n", 0, start) else len("\n")
    edits = [TextEdit(start, end, "")]
    if moved:
        # Behind the whole last line: the blanks at its end are not part of the entry and may still be needed.
        inside = _inside(file, first)
        where = text.index("\n", inside[-1].end if inside else first.header_end) + 1
        lead = f"§{newline}{moved}" if inside else moved
        if where > start:  # the newline in front of it goes with the header
            edits = [TextEdit(start, end, newline + lead)]
        else:
            edits.insert(0, TextEdit(where, where, lead + newline))
    if _reading(document, apply_edits(text, edits)) != _reading(document, text):
        return None
    return Fix(tuple(edits), safe=True, message=f"Join it with the first section of {second.category}")


def _inside(file: LintedFile, section: Section) -> Sequence[LintedEntry]:
    first = bisect_left(file.entries, section.start, key=lambda entry: entry.start)
    return file.entries[first : bisect_left(file.entries, section.end, key=lambda entry: entry.start)]


def _reading(document: Document, text: str) -> tuple[str | None, dict[str, list[str]]]:
    read = document.reread(text, titled=False)
    return read.title, {name: [entry.raw for entry in entries] for name, entries in sorted(read.by_category.items())}


@rule("CM103", "unknown-category", severity="error", fixes="unsafe")
def unknown_category(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find sections of a closed taxonomy whose category is not declared."""
    document, taxonomy = file.document, context.taxonomy
    if not taxonomy.closed:
        return
    for section, near in undeclared_sections(document, taxonomy):
        hint = f"Did you mean {near}?" if near else "Declare it under taxonomy.categories in catmem.yaml."
        message = f"the category {section.category} is not declared in catmem.yaml, so no pattern selects it"
        fix = _retitled(section, near, context) if near else None
        yield Finding(section.start, section.header_end, message, hint, fix)


@rule("CM114", "mistyped-category", fixes="unsafe")
def mistyped_category(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find sections of an open taxonomy that are nearly called as a category that is declared or named by a profile."""
    if context.taxonomy.closed:
        return
    for section in file.document.sections:
        near = meant_category(section.category, context.known)
        if near is not None:
            message = f"the category {section.category} is not declared, and no profile names it"
            fix = _retitled(section, near, context)
            yield Finding(section.start, section.header_end, message, f"Did you mean {near}?", fix)


def _retitled(section: Section, near: str, context: Context) -> Fix:
    category = context.taxonomy.of_slug(near)
    known = context.taxonomy.categories.get(category)
    title = known.title if known else category
    edit = TextEdit(section.start, section.header_end, f"## {title}")
    return Fix((edit,), safe=False, message=f"Change the title to {title!r}")


@rule("CM104", "heading-level-slip", fixes="unsafe")
def heading_level_slip(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find headings that look like a section header and are none."""
    for start, end, title in heading_slips(file.document, context.taxonomy.named):
        fix = Fix((TextEdit(start, end, f"## {title}"),), safe=False, message="Make it a section header")
        message = f"this looks like the header of section {context.taxonomy.category(title)} and is text of an entry"
        yield Finding(start, end, message, "A section header is '## ' and the title, without an indent.", fix)


@rule("CM106", "empty-section", severity="hint", fixes="unsafe")
def empty_section(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find sections without entries."""
    sections = file.document.sections
    for section in sections:
        if section.category == UNCATEGORIZED or _inside(file, section):
            continue
        edit = TextEdit(section.start, section.end, "")
        fix = Fix((edit,), safe=False, message="Remove the header") if len(sections) > 1 else None
        message = f"the section {section.category} has no entries"
        yield Finding(section.start, section.header_end, message, "Remove it if nothing is to come.", fix)


@rule("CM111", "empty-slug")
def empty_slug(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find level-2 headings without a letter or a number in their title."""
    for problem in file.document.problems if file.document.scan.slugless else ():
        if problem.rule == "empty-slug":
            yield Finding(problem.start, problem.end, problem.message, "Give it a title with a letter or a number.")


@rule("CM412", "hidden-uncategorized", scope="root")
def hidden_uncategorized(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find entries without a category that the prompt of the file's own profile leaves out."""
    for path, file in files.items():
        profile = context.profiles.get(file.owner or "")
        if profile is None or file.target is None or profile.include_uncategorized is not None:
            continue
        loose = [entry for entry in file.entries if entry.category == UNCATEGORIZED]
        taken_away = profile.selectors(file.target, context.taxonomy).takes_away(UNCATEGORIZED)
        if not loose or taken_away or visible_categories((UNCATEGORIZED,), file.target, profile, context.taxonomy):
            continue
        entries = "1 entry has" if len(loose) == 1 else f"{len(loose):,} entries have"
        message = f"{entries} no category, and the prompt of {profile.name} leaves out such entries"
        hint = f"Give each one (catmem sort -p {profile.name} -t {file.target}), or set "
        hint += "include_uncategorized in the profile."
        yield Finding(loose[0].start, loose[0].end, message, hint, path=path)
