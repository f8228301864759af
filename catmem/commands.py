"""The commands of the core: under which headings they stand, what each does in a line, and which module has it."""

from __future__ import annotations

GROUPS = {
    "Every day": {
        "init": "Make a root: a catmem.yaml, profiles, and homes for memory files.",
        "show": "Show what a memory file says, or what a profile sees of it.",
        "list": "List the entries that a profile sees.",
        "prompt": "Print the text for a specialist's system prompt.",
        "add": "Add an entry.",
        "replace": "Give an entry other words or tags.",
        "remove": "Remove an entry.",
        "move": "Put an entry into another category.",
        "verify": "Say that an entry still holds.",
        "search": "Find what a profile sees, the best and newest first.",
        "status": "Print what is next, each with the command for it.",
        "help": "Print the commands by group, with --all the rare ones too.",
    },
    "Keep facts true": {
        "proposals": "Approve or reject what agents propose.",
        "review": "Walk through the facts that are stale, expired or unverified.",
        "lint": "Find what is wrong in memory files, profiles and configuration.",
        "rule": "Print the page of a lint rule.",
        "schema": "Print a JSON schema of what catmem reads and prints.",
        "undo": "Take back what was written last.",
        "seed": "Copy slices of one profile's memory to others, again and again.",
        "promote": "Bring what a specialist added or reworded to the profile that it is seeded from.",
        "branches": "List the branches of a file that are not merged yet.",
        "merge": "Bring branches together with the file.",
        "fmt": "Put memory files into one layout.",
        "migrate": "Turn labels in the text of entries into sections and tags.",
    },
    "Look": {
        "access": "Print who reads and who may write which category, and why.",
        "stats": "Print what each prompt saves beside flat files, and what it keeps out.",
        "log": "List the revisions of a file, or of one entry.",
        "blame": "Say who wrote each entry, and who verified it.",
        "diff": "Show what changed between revisions of a file.",
        "watch": "Print what is new, as it happens.",
    },
    "Connect agents": {
        "mcp": "Serve the memory of a profile to an MCP client.",
        "serve": "Serve memory over HTTP, to agents and to a person's browser.",
        "token": "Make, list and remove the tokens with which callers use the server.",
        "export": "Write memory files for other programs.",
    },
    "Look after the store": {
        "fsck": "Check the history and the files, and mend what is safe to mend.",
        "doctor": "Say what the folders give the store, and what they lack.",
        "reconcile": "Bring back what a file lacks of a recovery copy.",
        "repair": "Mend a file that holds what no tool wrote.",
        "restore": "Write a file as it was at a revision.",
        "purge": "Erase an entry everywhere, from the history too.",
        "store": "Say what the store keeps, or copy it to another with its history.",
    },
    "Many writers and control": {
        "audit": "List every attempt to write: who, what, and how it ended.",
        "write": "Write what an envelope holds, as an agent sent it.",
        "envelope": "Make an envelope, signed, for catmem write.",
        "key": "Make, list and remove the keys that agents sign with.",
        "role-hash": "Print the digest of a profile, which envelopes name.",
        "rollout": "Show which refusals are enforced, and what was let pass.",
        "merge-driver": "Merge a memory file by entry, for git.",
        "replay": "Write every revision out as a file.",
        "anchor": "Print where the history stands, or check one that you kept.",
    },
}
"""The commands with their one-line help, in the order and under the headings of ``catmem help --all``."""

COMMANDS = {name: said for commands in GROUPS.values() for name, said in commands.items()}

MODULES = {
    "serving": ("serve", "mcp"),
}
"""The modules of several commands; every other command ``NAME`` has the module ``NAME_command``."""

OPERATION_MODULES: dict[str, tuple[str, ...]] = {
    "memory": (),
    "recall": (),
    "history": ("log", "blame", "diff", "undo", "restore", "replay", "watch"),
    "reports": ("status", "access", "stats"),
    "copies": ("reconcile",),
    "prompts": ("prompt",),
    "reading": ("show", "list", "search"),
    "proposals": ("proposals",),
    "linting": ("lint", "rule"),
    "branches": ("branches", "merge"),
    "audit": ("audit", "rollout"),
    "credentials": ("key", "token"),
    "envelopes": ("write", "envelope", "role-hash"),
    "exports": ("export",),
    "git": ("merge-driver",),
    "upkeep": ("fsck", "doctor", "anchor", "repair", "purge", "store"),
    "entries": ("add", "replace", "remove", "move", "verify"),
    "layout": ("fmt", "migrate"),
    "promoting": ("promote",),
    "review": ("review",),
    "setup": ("init",),
    "schemas": ("schema",),
}
