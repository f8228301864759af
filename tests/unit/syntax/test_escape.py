from catmem.syntax.scan import escape, unescape
from tests.together import together

ESCAPED = ["\\§", "\\§ \t", "\\\\§", "\\# ", "\\# x", "\\## x", "\\##\tx", "\\\\\\## x", "\\#\t"]
PLAIN = [
    "§",
    "## x",
    "\\§ x",
    "\\§§",
    "\\#x",
    "\\##x",
    "\\### x",
    " \\§",
    "x\\§",
    "\\",
    "\\\\",
    "\\\n§",
    "\\§\xa0",
    "\\\r## x",
]


@together("line", ESCAPED)
def test_reading_takes_one_backslash(line):
    assert unescape(line) == line[1:]
    assert unescape(f"a\n{line}\nb") == f"a\n{line[1:]}\nb"
    assert unescape(f"a\r\n{line}\r\nb") == f"a\r\n{line[1:]}\r\nb"
    assert unescape(f"{line}\n{line}") == f"{line[1:]}\n{line[1:]}"


@together("line", PLAIN)
def test_other_lines_stay(line):
    assert unescape(line) == line
    assert unescape(f"a\n{line}\nb") == f"a\n{line}\nb"


@together("line", [*ESCAPED, *PLAIN])
def test_writing_adds_what_reading_takes(line):
    text = f"{line}\nx\n{line}"
    assert unescape(escape(text, ())) == text


def test_a_long_run_of_backslashes():
    run = "\\" * 1_000_000
    assert unescape(run + "§") == run[1:] + "§"
    assert unescape(run + "x") == run + "x"
