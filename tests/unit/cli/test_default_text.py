"""What people read of an operation that has no text of its own."""

from catmem.cli.interface import show
from catmem.ops.table import OPERATIONS, Call, Outcome, operation

TEXT = """\
entity: neo/user
counts:
  talk: 2
  rules: 1
named:
- 'a: b'
- café
"""


def test_it_is_no_dict_of_python(capsys):
    @operation("tally")
    def tally(call: Call) -> Outcome:
        """Count."""
        raise AssertionError

    asked = Call(OPERATIONS.pop("tally"), lambda _: None)  # type: ignore[arg-type]  # it opens no root
    show(asked, Outcome({"entity": "neo/user", "counts": {"talk": 2, "rules": 1}, "named": ["a: b", "café"]}))
    assert capsys.readouterr().out == TEXT
