"""The operations sort and tidy: entries sorted into sections, and what memory says twice."""

import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, NamedTuple

from catmem.config.profile import refuse_no_root
from catmem.errors import CatmemError, ChangedMeanwhileError, ConfigError, UnreadableError, errors_at
from catmem.files import read_bounded, shown_path
from catmem.jsonable import jsonable
from catmem.model.document import Document, Entry
from catmem.model.splice import titled
from catmem.names import DROP, FILE_NAMES, SECRET, SPLIT, STAYS, TARGETS, UNCATEGORIZED, parts_of, slugify
from catmem.ops.shared import DryRun, OneFile
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.sorting import sort_lines
from catmem.plugins.sorting.labels import Migration, PlannedEntry, migrated
from catmem.plugins.sorting.migrating import declare, is_shared_file, planned_change, readers_of, unread_of
from catmem.plugins.sorting.sort_lines import ACTIONS, LABELLED, Checker, Described, Proposer, ReadList, SortLine
from catmem.plugins.sorting.tidying import list_tidy, propose_tidy
from catmem.store.contract import Change
from catmem.syntax import tags as tag_blocks
from catmem.text import MAX_FILE_BYTES, counted, decode, few, plural, printable
from catmem.threats import scan
from catmem.workspace.change_plan import ChangePlan, FileChange, write_file
from catmem.workspace.formatting import entity_at, memory_files
from catmem.workspace.init import kits, plan_declaration, starting_categories
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import Root, configured_now, load_each
from catmem.workspace.workspace import Workspace


def category_of(line: SortLine) -> str:
    if line.choice in ACTIONS:
        return UNCATEGORIZED
    return slugify(line.choice[1:]) if line.choice.startswith("+") else line.choice


def sort_document(
    document: Document, lines: Sequence[SortLine], titles: Mapping[str, str], *, shared: bool = False
) -> Migration:
    """What the lines of a list make of a document; ``titles`` give new sections their names and their order."""
    planned = tuple(_planned(line) for line in lines if line.choice not in {DROP, SECRET})
    if all(line.choice == STAYS and not line.part for line in lines):
        return Migration(document.text, document.text, planned, None)
    return migrated(document, titled(document), planned, titles, shared=shared)


def _planned(line: SortLine) -> PlannedEntry:
    entry = line.entry
    text = tag_blocks.write(entry.tags, line.text) if line.part else entry.text
    return PlannedEntry(entry, line.line, category_of(line), line.text, text, entry.tags)


# --- sort memory files on disk: read one with what is proposed for it, and write what was chosen as one revision -----


@dataclass(frozen=True)
class SortPlan:
    """A file that is to be sorted. ``categories`` are those that may be chosen, in their order.

    ``lines`` has one line for each entry without a category, with what is proposed for it. ``entity`` is ``None`` for a
    file of no profile.
    """

    workspace: Root
    path: Path
    entity: str | None
    document: Document
    categories: Mapping[str, Described]
    lines: tuple[SortLine, ...]
    proposer: Proposer

    @property
    def name(self) -> str:
        return self.entity or self.path.name

    @property
    def titles(self) -> dict[str, str]:
        return {slug: category.title for slug, category in self.categories.items()}

    @property
    def read_by_all(self) -> set[str]:
        every = {name for each in self.categories.values() for name in each.readers}
        return {slug for slug, each in self.categories.items() if every and every == {*each.readers}}

    @property
    def checker(self) -> Checker:
        return Checker(self.lines, self.titles, self.workspace.config)

    def to_text(self) -> str:
        return sort_lines.as_text(self.lines, self.name, self.document.digest, self.categories)

    def harmless(self, *, unsure: bool = False) -> tuple[SortLine, ...]:
        """What is sure, with ``unsure`` any fair guess too; what would go, or is hostile or labelled, stays."""
        lines = []
        for line in self.lines:
            choice = line.likely[0] if unsure and line.choice == DROP and line.likely else line.choice
            takes = (line.sure or (unsure and line.fair)) and choice not in ACTIONS and LABELLED not in line.marks
            lines.append(replace(line, choice=choice if takes else STAYS))
        return tuple(lines)

    def chosen(self, read: ReadList) -> tuple[SortLine, ...]:
        is_other = read.name not in {None, self.name, printable(self.name)}
        if read.digest not in {None, self.document.digest} or (is_other and self.entity):
            raise self._of_another(read, is_other=is_other)
        return self.checker.chosen(read)

    def _of_another(self, read: ReadList, *, is_other: bool) -> ChangedMeanwhileError:
        """Why a list is not of what is there: it is of another file, or the file changed."""
        if is_other:
            said = f"this list is of {read.name}, and not of {self.name}"
            hint = "Nothing was written. Name its file: -p PROFILE, with -t user or -t memory."
        else:
            said = "this list was made of another version of the file, which changed since or was sorted already"
            hint = (
                "Nothing was written. To use it all the same, take its first line away. "
                "Its entries are then found by their words, and others stay as they are."
            )
        return ChangedMeanwhileError(said, path=self.path, hint=hint)


class SortedEntries(NamedTuple):
    """What a sort makes of entries. ``declared`` are the titles of categories that are added to ``catmem.yaml``.

    ``counts`` has the number of entries (or parts) by category and action, ``secrets`` those to be erased, ``parts``
    those that ``split`` cut, with where they go, ``unread`` the categories that get entries no specialist reads here.
    """

    declared: Mapping[str, str]
    counts: Mapping[str, int]
    secrets: tuple[SortLine, ...]
    parts: tuple[SortLine, ...]
    unread: tuple[str, ...]

    def __json__(self) -> dict[str, Any]:
        secrets = [{"entry": line.number, "line": line.line} for line in self.secrets]
        return {"declared": self.declared, "counts": self.counts, "secrets": secrets, "unread": self.unread}


def plan_sort(
    workspace: Root, name: str | None = None, target: str | None = None, *, file: str | Path | None = None
) -> SortPlan:
    """Read the file of a profile, or ``file``, and propose categories."""
    entity: str | None
    workspace = configured_now(workspace)  # a sort declares categories
    if file is not None:
        path, _ = Path(file), memory_files(workspace, [file])
        entity = entity_at(workspace, path)
        document = workspace.parse(read_bounded(path, MAX_FILE_BYTES), path)
    else:
        profile = workspace.profile(str(name))
        found = [(each, read_document(workspace, profile, each)) for each in ([target] if target else TARGETS)]
        target, document = next((each for each in found if UNCATEGORIZED in each[1].by_category), found[0])
        path, entity = workspace.path_of(profile, target), f"{profile.name}/{target}"
    return plan_of(workspace, path, entity, document)


def plan_of(workspace: Root, path: Path, entity: str | None, document: Document) -> SortPlan:
    """The same for a document that was read already."""
    categories = _categories(workspace, entity, document)
    seldom = kits()["shared"] if path.name == FILE_NAMES["memory"] else ()
    # With the first section a heading at the top becomes the title: what stands below it is the first entry.
    proposer = Proposer(titled(document), workspace.config, categories, _known(workspace, entity, document), seldom)
    return SortPlan(workspace, path, entity, document, categories, proposer.lines(), proposer)


def unsorted_elsewhere(plan: SortPlan) -> list[str]:
    """The other entities of the same profile that have entries without a category."""
    name, used = parts_of(plan.entity or "")
    if not name:
        return []
    profile, others = plan.workspace.profile(name), (target for target in TARGETS if target != used)
    found = {f"{name}/{each}": read_document(plan.workspace, profile, each) for each in others}
    return [entity for entity, document in found.items() if UNCATEGORIZED in document.by_category]


def apply_sort(
    plan: SortPlan,
    lines: Sequence[SortLine],
    *,
    dry_run: bool = False,
    expected: str | None = None,
) -> FileChange:
    """Write what the lines choose, as one revision; new categories are declared in ``catmem.yaml``."""
    guesses = {line.number: {line.choice, *line.likely[:1]} for line in plan.lines}
    changed = [line.entry.id for line in lines if line.choice not in {*guesses[line.number], SPLIT}]
    workspace, parted = configured_now(plan.workspace), plan.proposer.parted
    lines = [part for line in lines for part in (parted(line) if line.choice == SPLIT else [line])]
    titles = dict(plan.titles)
    for line in lines:
        if line.choice.startswith("+"):
            title = line.choice[1:].strip()
            titles.setdefault(category_of(line), title.replace("-", " ").title() if title.islower() else title)
    migration = sort_document(plan.document, lines, titles, shared=is_shared_file(plan.path))
    declared = _new_titles(workspace, plan, lines, titles)
    declaration = plan_declaration(workspace.config, declared) if declared else None
    then = workspace if declaration is None else type(workspace)(declaration.config)
    file = planned_change(then, plan.path, plan.entity, migration, _sorted(then, plan, lines, declared))
    if dry_run or not file.changes:
        return file
    done: SortedEntries = file.about
    erased = [*dict.fromkeys(line.entry.id for line in done.secrets)]
    said = {"declared": [*done.declared], "secrets": erased, "changed": changed}
    note = {"sorted": dict(done.counts), **{name: each for name, each in said.items() if each}}
    if declaration is not None:
        declare(declaration)
    try:
        return write_file(workspace, file, Change(op="sort", note=note), expected=expected, keeps_copy=True)
    except CatmemError:
        if declaration is not None:
            declare(replace(declaration, old=declaration.new, new=declaration.old))
        raise


def _new_titles(
    workspace: Root, plan: SortPlan, lines: Sequence[SortLine], titles: Mapping[str, str]
) -> dict[str, str]:
    """The titles of the categories that are used and that the root does not declare yet."""
    if workspace.config.path is None:
        return {}
    known = {*workspace.config.taxonomy.categories, *(header.category for header in plan.document.scan.headers)}
    used = {category_of(line) for line in lines} - known
    return {slug: title for slug, title in titles.items() if slug in used}


def _sorted(workspace: Root, plan: SortPlan, lines: Sequence[SortLine], declared: Mapping[str, str]) -> SortedEntries:
    filled = dict.fromkeys(category_of(line) for line in lines if line.choice not in ACTIONS)
    return SortedEntries(
        declared,
        Counter(line.choice if line.choice in ACTIONS else category_of(line) for line in lines),
        secrets=tuple(line for line in lines if line.choice == SECRET),
        parts=tuple(line for line in lines if line.part),
        unread=tuple(unread_of(workspace, plan.entity, filled)) if plan.entity else (),
    )


def _categories(workspace: Root, entity: str | None, document: Document) -> dict[str, Described]:
    """The categories that may be chosen: those declared, else the file's own and those that ``init`` declares."""
    taxonomy = workspace.config.taxonomy
    titles = {slug: category.title for slug, category in taxonomy.categories.items()}
    if not (taxonomy.closed and titles):
        own = {header.category: header.title for header in document.scan.headers if header.category != UNCATEGORIZED}
        # A sort of a root without categories declares some of these: the others stay those that may be chosen.
        starting = starting_categories()
        titles = {**(starting if starting.keys() >= titles.keys() else {}), **own, **titles}
    # A title is shown in lists and to a model, where no secret and no hostile text may stand.
    titles = {slug: title for slug, title in titles.items() if not scan(title)}
    readers = readers_of(workspace, entity, titles) if workspace.config.path is not None else {}
    usual = kits()["categories"]
    return {
        slug: Described(title, usual.get(slug, {}).get("about", ""), tuple(readers.get(slug, ())))
        for slug, title in titles.items()
    }


def _known(workspace: Root, entity: str | None, document: Document) -> list[Entry]:
    """The entries of this file and of all profiles that can be read: a person sees all of them, and learns of them.

    A guess of a sort that no person changed teaches nothing where it put an entry, nor in a copy, until a person moves
    or rewords it: one slip would draw others behind it, run by run. No history of a file of no profile says which.
    """
    known, guessed = [*document.entries] if entity else [], set[tuple[str, str]]()
    for profile in load_each(workspace)[0] if workspace.config.path is not None else ():
        for target in TARGETS:
            try:
                found = read_document(workspace, profile, target)
                guessed |= _guessed(workspace, f"{profile.name}/{target}")
            except CatmemError:
                continue  # a file that cannot be read teaches nothing, and 'catmem lint' says what is wrong with it
            known += found.entries if found.digest != document.digest else ()
    return [entry for entry in known if (entry.category, entry.body) not in guessed]


def _guessed(workspace: Root, entity: str) -> set[tuple[str, str]]:
    """The categories and bodies of what sorts of an entity took as it was guessed."""
    found: set[tuple[str, str]] = set()
    for each in workspace.store.log(entity):
        if each.op == "sort":
            texts = (workspace.store.read(entity, name).data for name in (each.revision, *each.parents))
            after, *before = (workspace.parse(text).entries for text in texts)
            known = {(entry.category, entry.body) for some in before for entry in some}
            changed = {entry.body for some in before for entry in some if entry.id in each.note.get("changed", ())}
            found |= {(entry.category, entry.body) for entry in after if entry.body not in changed} - known
    return found


_SortedProfile = Annotated[str | None, P("The profile whose memory this is.")]


@dataclass(frozen=True, slots=True)
class SortedFile:
    """A file that was sorted as ``lines`` say, or would be."""

    plan: SortPlan
    done: ChangePlan
    lines: Sequence[SortLine]


@operation(
    "sort",
    examples=(
        "catmem sort",
        "catmem sort --yes --unsure",
        "catmem sort --ask 'llm -m MODEL' --yes",
        "catmem sort notes.md > list.txt",
        "catmem sort notes.md --read list.txt",
    ),
    apart={"to_read": "command yes unsure", "file": "profile target"},
)
def sort(
    call: Call,
    *,
    file: Annotated[str | None, P(argument=True)] = None,
    profile: _SortedProfile = None,
    target: OneFile = None,
    to_read: Annotated[
        str | None, P("Sort as an edited list says; - for standard input.", "--read", metavar="LIST")
    ] = None,
    command: Annotated[
        str | None,
        P("Let a model guess: this shell command gets the list and prints its answer.", "--ask", metavar="CMD"),
    ] = None,
    yes: Annotated[bool, P("Take what is sure; all else stays, and what would be removed.")] = False,
    unsure: Annotated[
        bool, P("As --yes, and take the best guess for the other entries. What has only a weak guess stays.")
    ] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Sort the entries without a category into sections, in one revision a file.

    Each entry has a best guess, by the words of the categories and of their entries; ? marks one that is not sure.
    Secrets, duplicates, hostile text and entries of several facts are marked. At a terminal your editor opens with the
    list. Elsewhere it is printed: edit it, and give it back with --read. Without -p and -t both files of the
    orchestrator come, one after the other; a printed list is of the first that needs it.

    No word of an entry changes. New categories are declared in catmem.yaml. 'catmem restore' takes a sort back; beside
    a file of no profile a copy is kept. A model gets no entry with a secret or hostile text.
    """
    if call.for_program and not (yes or unsure or to_read):
        raise UsageError("The list is text. --format json goes with --yes, --unsure or --read.")
    workspace = call.root
    plan = plan_sort(workspace, profile or (None if file else _only_profile(workspace)), target, file=file)
    if not plan.lines and not call.for_program:
        number = len(plan.document.entries)
        every = f"Nothing to sort: every entry of {plan.name} has a category ({number:,})."
        call.tell(every if number else f"{plan.name} has no entries.")
        return Outcome(None)
    _tell_of_wordless(call, plan, asked=to_read is not None or command is not None)
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    others = [] if target or call.for_program else unsorted_elsewhere(plan)
    in_turn = to_read is None and (yes or unsure or at_terminal)
    # Each is read when its turn comes: the sort of the one before may have declared categories.
    plans: Iterator[SortPlan] = chain([plan], (plan_sort(workspace, *parts_of(other)) for other in others if in_turn))
    plans = map(partial(_tell_of_labels, call), plans)
    if command is not None:
        plans = iter([_asked(call, each, command) for each in plans])
    said = None
    if to_read is not None:
        said = finish(call, plan, chosen(call, plan, to_read))
    elif yes or unsure:
        for each in plans:
            said = finish(call, each, each.harmless(unsure=unsure))
    elif at_terminal:
        edit = call.dialogue("catmem.plugins.sorting.texts")
        all(edit(call, each) for each in plans)
    else:
        call.show(next(plans))
    for other in [] if in_turn else others:
        name, their = parts_of(other)
        call.tell(f"{other} has entries without a category too: catmem sort -p {name} -t {their}{call.root_words}")
    return Outcome(None, said)


def _tell_of_labels(call: Call, plan: SortPlan) -> SortPlan:
    if labelled := sum(LABELLED in line.marks for line in plan.lines):
        call.tell(
            f"{counted(labelled, 'entry')} of {plan.name} {plural(labelled, 'has a label', 'have labels')} such as "
            f"[COMM], which a sort leaves there. First run: catmem migrate {shlex.quote(shown_path(plan.path))}"
            f"{call.root_words} (--declare for new names)"
        )
    return plan


def _tell_of_wordless(call: Call, plan: SortPlan, *, asked: bool) -> None:
    """Which categories nothing is guessed for, unless a list or a model was ``asked``; and whether all are general."""
    if plan.entity and plan.categories.keys() <= {*kits()["shared"], *starting_categories()}:
        call.tell("All categories here are for everybody. 'catmem init --profile NAME' adds those of a specialist.")
    names = plan.proposer.guesser.wordless if plan.entity else []
    if names and not asked:
        call.tell(
            f"Little is guessed for {few(names)}: no words are known but the {plural(len(names), 'name')}. Sort some "
            f"entries first, or write into catmem.yaml: taxonomy: {{categories: {{{names[0]}: {{aliases: [a, b]}}}}}}."
        )


def _only_profile(workspace: Workspace) -> str:
    """The one profile there is, or the one of tier 1."""
    refuse_no_root(workspace.config)
    names = list(workspace.profiles())
    for those in (names, [name for name in names if workspace.profile(name).tier == 1]):
        if len(those) == 1:
            return those[0]
    raise UsageError(f"Name a profile with -p, or a FILE.{f' There are {few(names)}.' if names else ''}")


def chosen(call: Call, plan: SortPlan, path: str) -> Sequence[SortLine]:
    """What the list in a file says of each entry."""
    limit = MAX_FILE_BYTES
    try:
        read = sort_lines.read_list(decode(call.stdin(limit) if path == "-" else read_bounded(path, limit)))
        lines = plan.chosen(read)
    except (ConfigError, UnreadableError) as error:
        error.path = error.path or ("standard input" if path == "-" else path)
        raise
    if left := len(lines) - len(read.rows):
        call.tell(f"{counted(left, 'entry')} without a line in the list {plural(left, 'stays', 'stay')} as before")
    return lines


def _asked(call: Call, plan: SortPlan, command: str) -> SortPlan:
    """The plan with the proposals of a command."""
    private = sum(line.private for line in plan.lines)
    if private:
        call.tell(f"{plan.name}: {counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    if private == len(plan.lines):
        return plan
    answer = sort_lines.read_proposals(answer_of(command, sort_lines.question(plan.lines, plan.categories)))
    return replace(plan, lines=plan.checker.proposed(answer))


def finish(call: Call, plan: SortPlan, lines: Sequence[SortLine]) -> dict[str, Any]:
    """Sort a file, and show it; gives what programs read of it."""
    dry_run = call.values["dry_run"]
    done = ChangePlan((apply_sort(plan, lines, dry_run=dry_run),), done=not dry_run)
    call.show(SortedFile(plan, done, lines))
    return {**jsonable(done), "dry_run": dry_run}


@operation("tidy", examples=("catmem tidy", "catmem tidy -p trinity"), opens="read")
def tidy(
    call: Call,
    *,
    profile: _SortedProfile = None,
    propose: Annotated[bool, P("Have each entry that may go wait as a proposal, for 'catmem proposals'.")] = False,
) -> Outcome:
    """List what memory says twice, and what you should look at together. No file is changed.

    The first list has entries with the same words. The second has entries of one profile that share rare words, and may
    differ in a number, a time or a date: the most alike first, at most one pair for five entries.
    """
    found = list_tidy(call.open("store" if propose else "read"), profile)
    notes: tuple[str, ...] = ()
    if found.private:
        private = counted(found.private, "entry")
        notes = (f"{private} with a secret or hostile text left out; see catmem lint --select CM6",)
    if propose:
        proposed = propose_tidy(call.root, [each for each in found.suggestions if each.operations])
        return Outcome(proposed, {"proposed": jsonable(proposed)}, problems=found.problems, notes=notes)
    said = jsonable({"suggestions": found.suggestions, "private": found.private, "problems": found.problems})
    return Outcome(found, said, problems=found.problems, notes=notes)


_LONGEST = 600
"""Seconds that a command may take."""
_HINT = "Nothing was written. The command gets the prompt on standard input, and prints the answer."


def answer_of(command: str, prompt: str) -> str:
    """What a command of the user's shell answers. Raises ``ConfigError`` (``ask_failed``) and ``UnreadableError``."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    # Files and no pipes: what the command left running may hold its output open, and is not waited for.
    with TemporaryFile() as asked, TemporaryFile() as answer:
        asked.write(prompt.encode())
        asked.seek(0)
        try:
            # In a session of its own, so that all that it started ends with it.
            running = subprocess.Popen(  # noqa: S603 - the user names it
                [shell, "-c", command], stdin=asked, stdout=answer, start_new_session=True
            )
        except OSError as error:
            raise _failed(f"cannot be run by {shell}: {error.strerror}") from error
        with running:
            try:
                status = running.wait(_LONGEST)
            except subprocess.TimeoutExpired as error:
                raise _failed(f"gave no answer within {_LONGEST:,} seconds, and was ended") from error
            finally:
                with suppress(ProcessLookupError):  # what it started and left behind ends too
                    os.killpg(running.pid, signal.SIGKILL)
        if status:
            program = next((word for word in command.split() if "=" not in word), "")  # what follows may be a secret
            raise _failed(f"ended with status {status}: {program}")
        answer.seek(0)
        with errors_at(hint=_HINT):
            return decode(answer.read())


def _failed(why: str) -> ConfigError:
    return ConfigError(f"the command of --ask {why}", code="ask_failed", hint=_HINT)
