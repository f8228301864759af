"""``catmem sync``: each declared file is read, held against the memory of today, and written if it says something else.

::

    prompt of the profile ──> bullets of today ─┐
    what was written last (the lock) ───────────┼──> an agent's changes ──> proposals, or writes as the profile
    what the block holds ───────────────────────┘         └── stay in the block until they are decided

Only the block changes; a file is read again before it is replaced whole, and planned anew if it changed since.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from catmem.config.config import Config, expand_user
from catmem.config.profile import profile_names
from catmem.config.yamlfile import load_yaml
from catmem.errors import (
    CatmemError,
    ChangedMeanwhileError,
    ConfigError,
    EditError,
    ErrorPlace,
    ForbiddenError,
    OverBudgetError,
    ProposalError,
    UnknownNameError,
    UnreadableError,
)
from catmem.files import os_errors, read_bounded, replace_file, rewrite_file, shown_path
from catmem.names import UNCATEGORIZED
from catmem.plugins.harnesses import marked
from catmem.plugins.harnesses.hook import FittedPrompt, fitted
from catmem.plugins.harnesses.marked import BlockEdit, Bullet, BulletSection, LastBullet, MarkedText
from catmem.prompt.prompt import Prompt
from catmem.seeding.seed_lock import SeedFile
from catmem.text import MAX_FILE_BYTES, decode, first_line, unify_newlines
from catmem.workspace.profile_memory import read_memory
from catmem.workspace.root import Root, run_git
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation

_COMMENT = re.compile(r"(?ms)^ {0,3}<!--.*?-->[ \t]*$\n?")
_FENCED = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)")


@dataclass(frozen=True, slots=True)
class Harness:
    """One harness. ``where`` gives, by scope, a folder that has to be there and the file below it.

    ``targets`` are the files of each part of the memory, where there is more than one. ``lines`` and ``characters``
    bound what catmem writes; ``whole`` says of a whole file, and its name, what counts of it and how much may.
    ``masks`` names files that are not read any more where the file is made, and ``masked_by`` one that hides it.
    """

    said: str
    where: Mapping[str, tuple[str, str]]
    shape: Literal["block", "file"] = "block"
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("user", "memory")})
    at_top: bool = False
    imports: bool = False
    lines: int = 400
    characters: int = 12_000
    whole: Callable[[str, str], tuple[int, int]] | None = None
    masks: tuple[str, ...] = ()
    masked_by: str | None = None
    front: str = ""
    counts: str = "the next session"
    tried: bool = False


def _claude_memory(text: str, _: str) -> tuple[int, int]:
    """What Claude Code counts of a MEMORY.md, as a part of 25,000 bytes: of 200 lines or of the bytes, what is more."""
    shown = memory_view(text)
    return max(len(shown.encode()), shown.rstrip("\n").count("\n") * 125 + 125 if shown.strip() else 0), 25_000


def memory_view(text: str) -> str:
    """A MEMORY.md without its front matter, and without comments that stand outside of code."""
    text = marked.FRONTMATTER.sub("", unify_newlines(text))
    made, at = "", 0
    for code in _FENCED.finditer(text):
        made, at = made + _COMMENT.sub("", text[at : code.start()]) + code[0], code.end()
    return made + _COMMENT.sub("", text[at:])


def _openclaw(text: str, name: str) -> tuple[int, int]:
    return len(text), 4_000 if name == "USER.md" else 20_000


def own_folders() -> dict[str, str]:
    """The folders that harnesses let a user move, by what templates call them."""
    moved = {"claude": os.environ.get("CLAUDE_CONFIG_DIR"), "codex": os.environ.get("CODEX_HOME")}
    return {name: folder or f"~/.{name}" for name, folder in moved.items()}


_CODEX_LIMIT = 32_768
"""Bytes of all AGENTS.md from the top of a project down."""
_RULES = "catmem-{name}"

HARNESSES: Mapping[str, Harness] = {
    "claude-agent": Harness(
        "the memory of a subagent of Claude Code",
        {
            "user": ("{claude}", "agent-memory/{agent}/MEMORY.md"),
            "project": ("{project}", ".claude/agent-memory/{agent}/MEMORY.md"),
            "local": ("{project}", ".claude/agent-memory-local/{agent}/MEMORY.md"),
        },
        at_top=True,
        imports=True,
        lines=120,
        whole=_claude_memory,
        counts="the next start of the subagent",
        tried=True,
    ),
    "claude": Harness(
        "the instructions of Claude Code",
        {
            "user": ("{claude}", "CLAUDE.md"),
            "project": ("{project}", "CLAUDE.md"),
            "local": ("{project}", "CLAUDE.local.md"),
        },
        imports=True,
        masks=("AGENTS.md",),
        counts="the next session, /clear or /compact",
        tried=True,
    ),
    "claude-rules": Harness(
        "a rules file of Claude Code",
        {
            "user": ("{claude}", f"rules/{_RULES}.md"),
            "project": ("{project}", f".claude/rules/{_RULES}.md"),
        },
        "file",
        imports=True,
        tried=True,
    ),
    "codex": Harness(
        "the instructions of Codex",
        {"user": ("{codex}", "AGENTS.md"), "project": ("{project}", "AGENTS.md")},
        masks=("CLAUDE.md",),
        masked_by="AGENTS.override.md",
        counts="the next run",
        tried=True,
    ),
    "openclaw": Harness(
        "the workspace of an agent of OpenClaw",
        {"user": ("{workspace}", "{part}")},
        targets={"USER.md": ("user",), "MEMORY.md": ("memory",)},
        whole=_openclaw,
        counts="the next turn (USER.md), the next session (MEMORY.md)",
        tried=True,
    ),
    "openclaw-agents": Harness(
        "AGENTS.md of an agent of OpenClaw, which its sub-agents get",
        {"user": ("{workspace}", "AGENTS.md")},
        whole=_openclaw,
        tried=True,
    ),
    "copilot": Harness(
        "an instructions file of GitHub Copilot",
        {
            "user": ("~/.copilot", f"instructions/{_RULES}.instructions.md"),
            "project": ("{project}", f".github/instructions/{_RULES}.instructions.md"),
        },
        "file",
        front='---\nname: "{name}"\napplyTo: "{apply_to}"\n---\n',
        counts="the next request",
        tried=True,
    ),
    "cursor": Harness(
        "a rule of Cursor",
        {"project": ("{project}", f".cursor/rules/{_RULES}.mdc")},
        "file",
        front="---\ndescription: Memory of {profile}\nalwaysApply: true\n---\n",
    ),
    "opencode": Harness(
        "an instructions file of OpenCode",
        {
            "user": ("~/.config/opencode", f"{_RULES}.md"),
            "project": ("{project}", f".opencode/{_RULES}.md"),
        },
        "file",
        counts='the next session, once "instructions" in opencode.json names the file',
    ),
    "gemini": Harness(
        "the context of Gemini CLI",
        {"user": ("~/.gemini", "GEMINI.md"), "project": ("{project}", "GEMINI.md")},
        imports=True,
        counts="the next session, or /memory reload",
    ),
    "kiro": Harness(
        "a steering file of Kiro",
        {
            "user": ("~/.kiro", f"steering/{_RULES}.md"),
            "project": ("{project}", f".kiro/steering/{_RULES}.md"),
        },
        "file",
        front="---\ninclusion: always\n---\n",
    ),
    "cline": Harness(
        "a rule of Cline",
        {
            "user": ("~/Documents/Cline", f"Rules/{_RULES}.md"),
            "project": ("{project}", f".clinerules/{_RULES}.md"),
        },
        "file",
    ),
    "zed": Harness("the instructions of Zed", {"user": ("~/.config/zed", "AGENTS.md")}),
}


# --- what is declared, and whether it may be written -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeclaredSync:
    """One name of ``sync``, as the configuration has it and with its defaults."""

    name: str
    profile: str
    row: Harness
    scope: str
    said: Mapping[str, Any]

    @property
    def agent(self) -> str:
        """The name of the subagent: those of Claude Code have no underscore."""
        return str(self.said.get("agent", self.profile.replace("_", "-")))

    @property
    def edits(self) -> str:
        return str(self.said.get("edits", "propose"))

    def filled(self, template: str) -> str:
        """A template of the table with what is declared in it."""
        values = {"agent": self.agent, "workspace": "~/.openclaw/workspace", "apply_to": "**", **self.said}
        return template.format_map({**values, **own_folders(), "name": self.name, "part": "{part}"})


class SyncTarget(NamedTuple):
    """A file of a sync: the parts of the memory that it holds, and the folder that has to be there already."""

    sync: DeclaredSync
    part: str
    targets: tuple[str, ...]
    base: Path
    path: Path


def declared_syncs(config: Config) -> dict[str, DeclaredSync]:
    """What is declared, by its name. Raises ``ConfigError`` (``bad_sync``) with the place in catmem.yaml."""
    found: dict[str, DeclaredSync] = {}
    for name, said in config.sync.items():
        row = HARNESSES[said["harness"]]
        usual = ("local", "project", "user") if "project" in said else ("user",)
        scope = str(said.get("scope") or next((each for each in usual if each in row.where), ""))
        if scope not in row.where:
            has = ", ".join(row.where)
            what = f"has no file of the scope {scope}" if scope else "needs the folder of a project"
            raise _fault(config, name, "harness", f"{said['harness']} {what}", f"It has: {has}. Give project: DIR.")
        if scope != "user" and "project" not in said:
            raise _fault(config, name, "scope", f"the scope {scope} needs a project", "Give project: DIR.")
        found[name] = DeclaredSync(name, said["profile"], row, scope, said)
    return found


def _fault(config: Config, name: str, key: str, message: str, hint: str) -> ConfigError:
    line = column = None
    if config.path is not None:
        places = load_yaml(config.path).positions
        line, column = places.get(("sync", name, key)) or places.get(("sync", name)) or (None, None)
    where: ErrorPlace = {"path": config.path, "line": line, "column": column, "key": f"sync.{name}.{key}"}
    return ConfigError(message, code="bad_sync", hint=hint, **where)


def chosen_syncs(config: Config, names: tuple[str, ...]) -> list[DeclaredSync]:
    """Those of these names; all, if there are none. Raises ``UnknownNameError``."""
    declared = declared_syncs(config)
    for name in names:
        if name not in declared:
            raise UnknownNameError(
                f"catmem.yaml declares no sync {name!r}",
                code="unknown_sync",
                hint=f"It declares {', '.join(declared) or 'none'}. Or: catmem sync --profile NAME --to HARNESS",
            )
    return [declared[name] for name in names or declared]


def targets_of(config: Config, sync: DeclaredSync) -> Iterator[SyncTarget]:
    folder, below = (sync.filled(each) for each in sync.row.where[sync.scope])
    base = config.root / expand_user(folder)
    for part, targets in sync.row.targets.items():
        yield SyncTarget(sync, part, targets, base, base / below.replace("{part}", part))


def refuse_place(workspace: Root, target: SyncTarget) -> None:
    """Refuse a file that may not be written, or that would hide others from the harness. Raises ``ConfigError``."""
    path, base, row = target.path, target.base, target.sync.row
    if not base.is_dir():
        what, hint = "the harness", "Start the harness once."
        if target.sync.scope != "user":
            what, hint = f"the project of sync.{target.sync.name}", "Nothing was written. Mend the path."
        raise ConfigError(f"no such folder: {what} is not here", code="no_harness", path=base, hint=hint)
    real = Path(os.path.realpath(path))  # a circle of links is no error here
    inside = [base.resolve()] + ([Path.home().resolve()] if target.sync.scope == "user" else [])
    if not any(real.is_relative_to(each) for each in inside):
        said = f"leads to {real}, outside of {shown_path(base)}"
        hint = "Nothing was written. Remove the link, or name the folder itself."
        raise ConfigError(said, code="sync_outside", path=path, hint=hint)
    if any(
        real.parent == workspace.config.home(name).resolve() for name in profile_names(workspace.config.profiles_dir)
    ):
        hint = "Name another folder: catmem would write its own text into its memory."
        raise ConfigError("is a memory file of this root", code="sync_outside", path=path, hint=hint)
    if not target.sync.said.get("shared") and _is_seen_by_git(real):
        hint = (
            f"It is personal. Add a line for it to .git/info/exclude, or say shared: true in sync.{target.sync.name}."
        )
        raise ConfigError("git would see this file, and with it the memory", code="seen_by_git", path=path, hint=hint)
    over = path.with_name(row.masked_by) if row.masked_by else None
    if over is not None and over.is_file() and over.read_bytes().strip():
        said = f"is not read: {over.name} stands beside it"
        raise ConfigError(said, code="masked", path=path, hint=f"Remove {over.name}, or put the text there by hand.")
    if target.sync.scope != "user" and not os.path.lexists(path):
        for masked in (folder / name for folder in project_folders(base) for name in row.masks):
            if masked.is_file() and not any((masked.parent / name).exists() for name in _UNMASKED.get(masked.name, ())):
                hint = f"Make it yourself with the line @{masked.name}, or name another harness (claude-rules)."
                said = f"with this file there, {masked.name} is read no more"
                raise ConfigError(said, code="masked", path=path, hint=hint)


_UNMASKED = {"AGENTS.md": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"), "CLAUDE.md": ("AGENTS.md",)}
"""Where one of these is there, the file is masked already."""


def _is_seen_by_git(path: Path) -> bool:
    """Whether the file is in a work tree of git, and git does not ignore it."""
    if not any(os.path.lexists(folder / ".git") for folder in path.parents):
        return False
    there = next(folder for folder in path.parents if folder.is_dir())
    try:
        return run_git("-C", str(there), "check-ignore", "-q", "--", str(path)).returncode != 0
    except OSError:
        return True  # without git it cannot be known


def project_folders(folder: Path) -> list[Path]:
    """The folders from the top of a project, where git begins, down to this one; this one alone outside of git."""
    chain = [folder, *folder.parents]
    top = next((place for place, each in enumerate(chain) if os.path.lexists(each / ".git")), 0)
    return chain[top::-1]


def codex_room(target: SyncTarget, size: int) -> tuple[int, int]:
    """Bytes of all AGENTS.md of a project, with ``size`` for this one, and how many of them Codex reads."""
    if target.sync.scope == "user":
        return size, size
    total = size
    for folder in project_folders(target.base):
        there = [folder / name for name in ("AGENTS.override.md", "AGENTS.md") if (folder / name).is_file()]
        sizes = [each.stat().st_size for each in there if each.stat().st_size]
        total += sizes[0] if sizes and folder != target.base else 0
    return total, _CODEX_LIMIT


SyncState = Literal[
    "in sync", "new", "out of date", "nothing to show", "edited", "taken out", "removed", "written", "refused"
]
_LEFT_ALONE = {"refused", "edited", "taken out"}
_CONFLICT = 3
_WIDTH = 100
"""Characters of the words that are taken back, as they are shown."""
_ROOT_DIGITS = 8
LOCK_NAME = "catmem.sync.lock"
"""The file of a root that says where catmem wrote, what it made there, and digests of what it wrote.

It holds no words of the memory. If it is lost, blocks are found by their markers still; then nothing counts as an
agent's change, and nothing that was changed is written over.
"""
_LIMIT = 64 << 20

EditKey = tuple[str, str]
"""What a change is known by within a block: the id of the entry, and the new words."""


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """What is known of one file; ``created``: catmem made it. ``sha`` is that of what was written last."""

    path: str
    created: bool = False
    sha: str = ""
    bullets: tuple[LastBullet, ...] = ()


SyncRecords = dict[tuple[str, str], SyncRecord]
"""The records by the name of a sync and the part that the file is."""


@dataclass(slots=True)
class SyncedFile:
    """One file: how it stands, what it holds and is to hold (``None`` for no file), and what an agent changed in it."""

    name: str
    path: Path
    state: SyncState = "refused"
    counts: str = ""
    record: SyncRecord | None = None
    before: str | None = None
    after: str | None = None
    edits: Sequence[BlockEdit] = ()
    left_out: int = 0
    size: tuple[int, int] = (0, 0)
    notes: list[str] = field(default_factory=list)
    error: CatmemError | None = None
    takes_back: bool = False
    """Whether words of an agent or a person go, which the profile may not write; a copy keeps them."""

    @property
    def changes(self) -> bool:
        return self.after != self.before

    @property
    def exit_status(self) -> int:
        if self.error is not None:
            return self.error.exit_status
        return _CONFLICT if self.state in _LEFT_ALONE else int(self.takes_back)

    def refuse(self, error: CatmemError) -> None:
        """Leave the file as it is."""
        error.path = error.path or str(self.path)
        self.state, self.after, self.error = "refused", self.before, error

    __json__ = "name path state changes edits left_out size counts notes error"


@dataclass(frozen=True, slots=True)
class SyncAsked:
    """How a sync is made: for which day, without writing, and whether what was changed in blocks is written over."""

    as_of: date | None = None
    dry: bool = False
    again: bool = False


def sync_files(workspace: Workspace, syncs: Sequence[DeclaredSync], asked: SyncAsked) -> list[SyncedFile]:
    """Write each file that says something else, after an agent's changes have gone where they go."""

    def work(records: SyncRecords) -> list[SyncedFile]:
        targets = [each for sync in syncs for each in targets_of(workspace.config, sync)]
        return [_SyncWork(workspace, each, records, asked).run() for each in targets]

    return _carried_out(workspace, work, asked)


def remove_blocks(workspace: Workspace, names: Collection[str], asked: SyncAsked) -> list[SyncedFile]:
    """Take out what catmem wrote for these syncs, or for all, also for those that are declared no more."""

    def work(records: SyncRecords) -> list[SyncedFile]:
        paths = {key: Path(each.path) for key, each in records.items() if each.path}
        for sync in declared_syncs(workspace.config).values():
            paths = {(sync.name, each.part): each.path for each in targets_of(workspace.config, sync)} | paths
        chosen = {key: path for key, path in paths.items() if not names or key[0] in names}
        return [_removed(workspace, key, path, records, asked) for key, path in chosen.items()]

    return _carried_out(workspace, work, asked)


def _carried_out(
    workspace: Workspace, work: Callable[[SyncRecords], list[SyncedFile]], asked: SyncAsked
) -> list[SyncedFile]:
    with nullcontext() if asked.dry else SeedFile(workspace).held():
        records, note = read_records(workspace.root)
        try:
            done = work(records)
        finally:
            if not asked.dry:
                write_records(workspace.root, records)
    for each in done[:1] if note else ():
        each.notes.append(str(note))
    return done


def root_mark(root: Path | str) -> str:
    """The word by which a marker names the root that it is of."""
    return marked.digest(os.path.realpath(root))[:_ROOT_DIGITS]


def _text_at(path: Path) -> str | None:
    return decode(read_bounded(path, MAX_FILE_BYTES)) if os.path.lexists(path) else None


def _left(text: str, block: MarkedText, record: SyncRecord | None) -> str | None:
    """What is left without the block: no file, where catmem made it and it would be empty."""
    left = marked.without(text, block)
    return None if record is not None and record.created and not left.strip() else left


class _SyncWork:
    """The work on one file: it is planned, an agent's changes are settled, it is planned again and written."""

    def __init__(self, workspace: Workspace, target: SyncTarget, records: SyncRecords, asked: SyncAsked) -> None:
        self.workspace, self.target, self.records, self.asked = workspace, target, records, asked
        self.sync, self.row, self.root = target.sync, target.sync.row, root_mark(workspace.root)
        self.dropped: set[EditKey] = set()

    def run(self) -> SyncedFile:
        made = self.planned()
        if made.edits and made.state not in _LEFT_ALONE:
            self.settle(made)
            settled, made = made, self.planned()
            made.notes = list(dict.fromkeys([*settled.notes, *made.notes]))
            made.error, made.takes_back = made.error or settled.error, settled.takes_back
        if not self.asked.dry and made.state not in _LEFT_ALONE:
            try:
                put(made, self.target.base)
            except CatmemError as error:
                made.refuse(error)
            else:
                self.keep(made)
        return made

    def keep(self, made: SyncedFile) -> None:
        key = self.sync.name, self.target.part
        if made.after is None:
            self.records.pop(key, None)
        elif made.record is not None:
            self.records[key] = made.record

    def planned(self) -> SyncedFile:
        """How the file stands; what is wrong with it, is its ``error``."""
        made = SyncedFile(self.sync.name, self.target.path, counts=self.row.counts)
        made.record = self.records.get((self.sync.name, self.target.part))
        if made.record is not None and made.record.path != str(self.target.path):
            made.notes.append(f"it was written to {made.record.path} before, and stands there still")
            made.record = None
        try:
            made.before = made.after = _text_at(self.target.path)
            refuse_place(self.workspace, self.target)
            self.plan(made)
        except CatmemError as error:
            made.refuse(error)
        return made

    def marked(self, text: str | None) -> MarkedText | None:
        if text is None:
            return None
        return (marked.find if self.row.shape == "block" else marked.owned)(text, self.sync.name)

    def plan(self, made: SyncedFile) -> None:
        name, there = self.sync.name, self.marked(made.before)
        if self.row.shape == "file" and made.before is not None and there is None:
            raise _foreign(made.path, "another program or a person wrote this file", "Give the sync another name.")
        if not (self.asked.again or self.may_go_on(made, there)):
            return

        def whole(body: str) -> str | None:
            text = made.before or ""
            if self.row.shape == "file":
                return marked.owned_text(name, self.sync.filled(self.row.front), body, self.root) if body else None
            if not body:
                return made.before if there is None else _left(text, there, made.record)
            if there is None:
                return marked.with_block(text, name, body, self.root, at_top=self.row.at_top)
            return marked.replaced(text, name, there, body, self.root)

        bullets = self.fit(made, whole)
        bullets += [each.old for each in made.edits if each.old is not None and each.old not in bullets]
        now, record = self.marked(made.after), made.record or SyncRecord(str(made.path), created=made.before is None)
        written = tuple(each.written for each in bullets) if self.row.shape == "block" else ()
        made.record = replace(record, sha=now.said["sha"] if now else "", bullets=written)

    def may_go_on(self, made: SyncedFile, there: MarkedText | None) -> bool:
        """Find what an agent changed; whether what is there may be written anew."""
        record, why = made.record, ""
        if there is None:
            why = "the block was taken out" if record is not None and record.bullets else ""
        elif there.said.get("root") != self.root:
            hint = "Give one of the two another name; --again writes over it, if that root is no more or was moved."
            raise _foreign(made.path, f"another root wrote what is marked {self.sync.name}", hint)
        elif self.row.shape == "file":
            why = "" if there.is_as_written else "the file was changed"
        # A whole block that is not the last one is an older one of catmem, such as a checkout brings: no agent's.
        elif not there.is_as_written and record is None:
            why = "the block was changed, and it is not known from what"
        elif record is not None and not (there.is_as_written and there.said["sha"] != record.sha):
            prompt = read_memory(self.workspace, self.sync.profile).prompt(as_of=self.asked.as_of, style="markdown")
            taxonomy, targets = self.workspace.config.taxonomy, self.target.targets
            found = marked.edits_in(there.held, record.bullets, self.sections(prompt), taxonomy, targets)
            made.edits = [each for each in found if _key(each) not in self.dropped]
            if made.edits and self.sync.edits == "refuse":
                why = "the block was changed, which edits: refuse does not take"
        if why:
            made.state = "edited" if there else "taken out"
            made.notes.append(f"{why}; --again writes it anew")
        return not why

    def sections(self, prompt: Prompt) -> list[BulletSection]:
        return marked.sections_of(prompt, self.target.targets, partial(marked.safe_text, imports=self.row.imports))

    def fit(self, made: SyncedFile, whole: Callable[[str], str | None]) -> list[Bullet]:
        """Give the file what it has room for; ``whole`` makes it of a body. Raises ``OverBudgetError``."""

        def body(fit: FittedPrompt) -> str:
            return marked.body_of(marked.with_edits(self.sections(fit.prompt), made.edits), fit.note)

        def share(fit: FittedPrompt) -> float:
            made.size = self.measured(body(fit), whole(body(fit)) or "")
            return made.size[0] / made.size[1]

        memory = read_memory(self.workspace, self.sync.profile)
        fit = fitted(memory, share, style="markdown", as_of=self.asked.as_of)
        if share(fit) > 1:
            raise self.without_room(made.size)
        made.left_out, made.after = fit.left_out, whole(body(fit))
        made.state = "new" if made.before is None else "out of date"
        if not made.changes:
            made.state = "in sync" if body(fit) else "nothing to show"
        return [bullet for section in self.sections(fit.prompt) for bullet in section.bullets]

    def measured(self, body: str, whole: str) -> tuple[int, int]:
        row, said = self.row, self.sync.said
        sizes = [
            (body.count("\n"), min(row.lines, said.get("lines", row.lines))),
            (len(body), min(row.characters, said.get("characters", row.characters))),
        ]
        if row.whole is not None:
            sizes.append(row.whole(whole, self.target.path.name))
        if said["harness"] == "codex" and self.sync.scope != "user":
            sizes.append(codex_room(self.target, len(whole.encode())))
        return max(sizes, key=lambda each: each[0] / each[1])

    def without_room(self, size: tuple[int, int]) -> CatmemError:
        said = f"with nothing of the memory it takes {size[0]:,} of the {size[1]:,} that {self.row.said} may have"
        error: CatmemError = OverBudgetError(said, size=size[0], limit=size[1])
        error.hint = "Nothing was written to it. Shorten what stands in the file."
        return error

    def settle(self, made: SyncedFile) -> None:
        """Propose, or write as the profile, what an agent changed. What was rejected before memory takes back."""
        for edit in sorted(made.edits, key=lambda each: each.action == "remove"):
            if edit.action == "remove" and made.error:
                break  # it may be the other half of what was refused
            try:
                done = self.workspace.write(
                    self.sync.profile,
                    _operations(edit),
                    target=edit.at.target,
                    actor=self.sync.profile,
                    reason=f"changed in {made.path.name} for {self.sync.name}",
                    proposes=self.sync.edits == "propose" or edit.disputed,
                    dry_run=self.asked.dry,
                )
            except ProposalError as error:
                if error.code == "rejected_before":
                    self.dropped.add(_key(edit))
                else:
                    made.error = error
            except CatmemError as error:
                if isinstance(error, ForbiddenError) and edit.old is not None:  # what memory says stands there again
                    self.dropped.add(_key(edit))
                    words = first_line(edit.new.body, _WIDTH) if edit.new else "an entry was taken out"
                    kept = "" if self.asked.dry else f" ({self.kept(made)} keeps it)"
                    made.notes.append(f"{error.message}: what stood in {made.path.name} is taken back{kept}: {words}")
                    made.takes_back = True
                else:
                    error.hint = f"It stays in {made.path.name}, and memory is as it was."
                    made.error = error
            else:
                said = f"waits as {done.waiting}" if done.waiting else f"is revision {done.revision}"
                made.notes += [] if self.asked.dry else [f"{edit.action} in {edit.at.category}: {said}"]

    def kept(self, made: SyncedFile) -> Path:
        """A copy, in the root, of a file whose words are taken back."""
        path = self.workspace.root / f"{made.path.name}.bak.{marked.digest(made.before or '')[:_ROOT_DIGITS]}"
        with os_errors("cannot be written", path=path, hint="The file of the harness is as it was."):
            replace_file(path, (made.before or "").encode(), lasting=True, mode=0o600)
        return path


def _key(edit: BlockEdit) -> EditKey:
    return edit.old.id if edit.old else "", edit.new.body if edit.new else ""


def _operations(edit: BlockEdit) -> list[Operation]:
    """What an edit is to memory, as one write: of an entry under another heading a move, and its new words."""
    category = None if edit.at.category == UNCATEGORIZED else edit.at.category
    if edit.old is None:
        return [Operation("add", content=edit.at.body, category=category)]
    if edit.new is None:
        return [Operation("remove", old_text=edit.old.id, category=category)]
    words = Operation("replace", content=edit.new.body, old_text=edit.old.id, category=category)
    if edit.old.category == edit.new.category:
        return [words]
    return [Operation("move", old_text=edit.old.id, to_category=edit.at.category), words]


def _foreign(path: Path, message: str, hint: str) -> EditError:
    return EditError(message, code="foreign_block", path=path, hint=f"The file is as it was. {hint}")


def _removed(
    workspace: Workspace, key: tuple[str, str], path: Path, records: SyncRecords, asked: SyncAsked
) -> SyncedFile:
    """Take out of a file what catmem wrote there, as long as it is that."""
    made = SyncedFile(key[0], path, "removed", record=records.get(key))
    try:
        text = made.before = made.after = _text_at(path)
        file = None if text is None else marked.owned(text, key[0])
        there = file if file is not None or text is None else marked.find(text, key[0])
        if text is not None and there is not None:
            is_ours = there.is_as_written and there.said.get("root") == root_mark(workspace.root)
            if not (asked.again or is_ours):
                hint = "Run catmem sync first, which brings changes into memory; or --again drops what stands there."
                raise _foreign(path, "it was changed, or another root wrote it, so it was not taken out", hint)
            made.after = None if file else _left(text, there, made.record)
        if not asked.dry:
            put(made, path.parent)
            records.pop(key, None)
    except CatmemError as error:
        made.refuse(error)
    return made


# --- files on the disk -----------------------------------------------------------------------------------------------


def put(file: SyncedFile, base: Path) -> None:
    """Make the file hold what it is to hold, with the folders below ``base`` for it. Raises ``UnreadableError``."""
    if not file.changes:
        return
    with os_errors("cannot be written", path=file.path, hint="The file is as it was. Check the rights of its folder."):
        if file.before is None:
            for folder in reversed([each for each in file.path.parents if each.is_relative_to(base)]):
                folder.mkdir(mode=0o700, exist_ok=True)
            os.close(_created(file.path))
        if file.after is None:
            if _text_at(file.path) != file.before:
                raise _meanwhile(file.path)
            file.path.unlink()
        else:
            rewrite_file(file.path, (file.before or "").encode(), file.after.encode())
    file.state = "written" if file.state != "removed" else file.state


def _created(path: Path) -> int:
    """A new file: one that another program makes at the same moment is not written over."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise _meanwhile(path) from error


def _meanwhile(path: Path) -> ChangedMeanwhileError:
    return ChangedMeanwhileError("another program wrote this file", path=path, hint="Nothing was written. Try again.")


# --- catmem.sync.lock ------------------------------------------------------------------------------------------------


def read_records(root: Path) -> tuple[SyncRecords, str | None]:
    """The records of a root, and what to know of a file that is not whole."""
    path = root / LOCK_NAME
    try:
        said = json.loads(read_bounded(path, _LIMIT, follow_symlink=False))
        return {
            (name, part): _record(each) for name, parts in said["files"].items() for part, each in parts.items()
        }, None
    except UnreadableError as error:
        if error.code == "missing":
            return {}, None
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, f"{path} cannot be read, so no change counts as an agent's until the next sync"


def _record(said: dict[str, Any]) -> SyncRecord:
    bullets = tuple(LastBullet(str(t), str(c), str(i), str(d), int(n)) for t, c, i, d, n in said["bullets"])
    return SyncRecord(str(said["path"]), bool(said["created"]), str(said["sha"]), bullets)


def write_records(root: Path, records: SyncRecords) -> None:
    """Put the records in the place of those that are there, if they are others."""
    files: dict[str, dict[str, Any]] = {}
    for (name, part), each in sorted(records.items()):
        files.setdefault(name, {})[part] = asdict(each)
    path = root / LOCK_NAME
    data = (json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=1) + "\n").encode()
    if not files and not os.path.lexists(path):
        return
    if not (path.is_file() and path.read_bytes() == data):
        replace_file(path, data, lasting=True, mode=0o600)
