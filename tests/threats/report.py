"""Print what the threat scanner finds in the two corpora, with every miss and every false alarm.

Run it from the root of the repository: ``python -m tests.threats.report`` (``--markdown`` for the table in
docs/benchmarks.md).
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from catmem.threats import scan

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """One class of a corpus: how many texts, and those on which the scanner was wrong."""

    name: str
    total: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        """Part of the texts on which the scanner was wrong, from 0 to 1."""
        return len(self.wrong) / self.total


def load(name: str) -> dict[str, list[str]]:
    """The corpus ``attacks`` or ``benign``: class name to texts; or the ``findings`` of each attack."""
    corpus: dict[str, list[str]] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return corpus


def attack_rows() -> list[Row]:
    """Each attack class, named by the rule that must fire, with the texts on which it did not."""
    return [
        Row(rule, len(texts), tuple(text for text in texts if rule not in {found.rule for found in scan(text)}))
        for rule, texts in load("attacks").items()
    ]


def benign_rows() -> list[Row]:
    """Each benign class with the texts on which any rule fired."""
    return [
        Row(name, len(texts), tuple(text for text in texts if scan(text))) for name, texts in load("benign").items()
    ]


def table(*, markdown: bool) -> str:
    """The report as text, or as the Markdown that docs/benchmarks.md carries; the same bytes for the same scanner.

    The Markdown is the tables, without the classes in which nothing is wrong; their texts count in the row ``all``.
    """
    attacks, benign = attack_rows(), benign_rows()
    shown_attacks, shown_benign = (
        [*(row for row in rows if row.wrong or not markdown), _sum(rows)] for rows in (attacks, benign)
    )
    lines = ["| attack class | texts | found |", "|---|---:|---:|"]
    lines += [f"| `{row.name}` | {row.total} | {row.total - len(row.wrong)} |" for row in shown_attacks]
    lines += ["", "| benign class | texts | false alarms |", "|---|---:|---:|"]
    lines += [f"| {row.name} | {row.total} | {len(row.wrong)} |" for row in shown_benign]
    if markdown:
        return "\n".join(lines) + "\n"
    lines += ["", "Missed:", ""]
    lines += [f"- `{row.name}`: {json.dumps(text)}" for row in attacks for text in row.wrong] or ["- none"]
    lines += ["", "False alarms:", ""]
    lines += [
        f"- {row.name}: {json.dumps(text)} ({', '.join(sorted({found.rule for found in scan(text)}))})"
        for row in benign
        for text in row.wrong
    ] or ["- none"]
    return ("\n".join(lines) + "\n").replace("`", "")


def _sum(rows: list[Row]) -> Row:
    return Row("all", sum(row.total for row in rows), tuple(text for row in rows for text in row.wrong))


def main() -> int:
    """Print the report; always 0, since the test decides what is good enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="print it as docs/benchmarks.md carries it")
    sys.stdout.write(table(markdown=parser.parse_args().markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
