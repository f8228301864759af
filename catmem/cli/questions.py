"""What the command line asks a person, question by question, and the answers of each."""

from catmem.cli.dialogue import AnswerKey, Question

_DECIDED = "what was decided before it stays, and the rest still waits."
_ANSWERED = "what was answered before it is written, and running it again goes on."

REVIEW = Question(
    (
        AnswerKey("k", "keep", "keep: it still holds, and is verified"),
        AnswerKey("e", "edit", "edit: it says WORDS from now on, which are verified", words="WORDS"),
        AnswerKey("x", "expire", "expire: it no longer holds"),
        AnswerKey("r", "remove", "remove it (the history keeps it)"),
        AnswerKey("s", "skip", "skip it in this round"),
        AnswerKey("u", "undo", "undo the last answer"),
    ),
    quits="what was answered stays, and the next run goes on",
    refused=f"Nothing was written for it; {_ANSWERED}",
    stays=_ANSWERED,
)
PROPOSALS = Question(
    (
        AnswerKey("y", "approve", "yes: approve it"),
        AnswerKey("n", "reject", "no: reject it; the agent is shown the REASON", words="REASON"),
        AnswerKey("e", "edit", "edit: approve it, but the entry says WORDS", words="WORDS"),
        AnswerKey("s", "skip", "skip it: it still waits"),
        AnswerKey("a", "approve all", "approve all that are left of this profile in the same categories"),
    ),
    quits="what was decided stays, and the rest still waits",
    refused=f"Nothing was written for it; {_DECIDED}",
    stays=_DECIDED,
    has_only_keys=True,
)
MERGE = Question(
    (
        AnswerKey("o", "ours", "ours: what the file says"),
        AnswerKey("t", "theirs", "theirs: what the branch says"),
        AnswerKey("b", "both", "both: the two stand one after the other (of tags, categories and titles: ours)"),
        AnswerKey("e", "edit", "edit: the entry says WORDS instead of either", words="WORDS"),
    ),
    quits="nothing is written",
)
SEED = Question(
    (
        AnswerKey("t", "target", "target: its entry stays for good"),
        AnswerKey("s", "source", "source: its entry is taken"),
        AnswerKey(
            "b", "both", "both: the two stand one after the other (of tags, categories and titles: the target's)"
        ),
        AnswerKey("e", "edit", "edit: both sides say WORDS instead", words="WORDS"),
        AnswerKey("l", "leave", "leave it open for now"),
    ),
    quits="this conflict and all later ones stay open, those before it are settled",
    refused="Nothing was seeded from this source.",
)
RECONCILE = Question(
    (
        AnswerKey("b", "bring", "bring it over"),
        AnswerKey("s", "skip", "skip it"),
        AnswerKey("a", "bring all", "bring over this one and all that are left"),
    ),
    quits="nothing is written",
)
