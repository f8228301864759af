"""What ``catmem sort`` proposes, and how often the right category is among it."""

from pathlib import Path

from catmem.config.config import Category, Config, Taxonomy, load_config
from catmem.model.document import parse
from catmem.names import DROP, STAYS
from catmem.plugins.sorting.sort_lines import Described, Guesser, Proposer, as_text, parts_of
from tests.together import together

NOTES = Path(__file__).parents[2] / "sorting"
TITLES = {"finance": "Finance", "communication-style": "Communication Style"}


def described(titles, **readers):
    return {slug: Described(title, "", readers.get(slug, ())) for slug, title in titles.items()}


def proposed(text, titles=TITLES, **readers):
    document = parse(text)
    return Proposer(document, Config(Path("root")), described(titles, **readers), document.entries).lines()


def shares(person, half):
    """How many of every second note of a person are proposed the right category first, and among three."""
    taxonomy = load_config(NOTES / person).taxonomy
    known, notes = (taxonomy.parse((NOTES / person / f"{name}.md").read_text()) for name in ("known", "notes"))
    names = {each.slug: (each.slug, each.title, *each.aliases) for each in taxonomy.categories.values()}
    learned = [(entry.category, entry.body) for entry in known.entries]
    guesser = Guesser(names, learned, [entry.body for entry in notes.entries])
    first = three = count = 0
    for category, entries in notes.by_category.items():
        for entry in entries[half::2]:
            found = guesser.guess(entry.body).categories
            count += 1
            first += found[:1] == [category]
            three += category in found[:3]
    return count, first / count, three / count


# Measured: .68/.94 and .60/.89; .48/.60 and .33/.54. The categories of a school are of a kind that no kit knows.
@together(
    ("person", "half", "count", "first", "three"),
    [("nora", 0, 104, 0.6, 0.85), ("nora", 1, 96, 0.55, 0.8), ("sam", 0, 48, 0.45, 0.6), ("sam", 1, 48, 0.3, 0.45)],
)
def test_the_right_category_is_proposed(person, half, count, first, three):
    found = shares(person, half)
    assert found[0] == count
    assert found[1] >= first
    assert found[2] >= three


def taken(person, half):
    """Of every second note of a person: how many are proposed rightly, how many at all, and how many there are."""
    config = load_config(NOTES / person)
    known, notes = (config.taxonomy.parse((NOTES / person / f"{name}.md").read_text()) for name in ("known", "notes"))
    titles = {slug: each.title for slug, each in config.taxonomy.categories.items()}
    flat = parse("\n§\n".join(entry.body for entry in notes.entries))
    lines = Proposer(flat, config, described(titles), known.entries).lines()
    choices = {line.text: line.choice if line.sure else STAYS for line in lines}
    found = [
        (category, choices[entry.body]) for category, entries in notes.by_category.items() for entry in entries[half::2]
    ]
    made = [(category, choice) for category, choice in found if choice != STAYS]
    return sum(category == choice for category, choice in made), len(made), len(found)


# Measured: 59 of 66; 11 of 14. What is sure is written without a look, so it may miss much.
@together(("person", "precision", "share"), [("nora", 0.85, 0.25), ("sam", 0.75, 0.05)])
def test_what_is_sure_is_right(person, precision, share):
    right, made, count = map(sum, zip(taken(person, 0), taken(person, 1), strict=True))
    assert right / made >= precision
    assert made / count >= share


def test_one_word_in_common_is_a_guess_with_a_mark():
    (line,) = proposed("Likes whitespace; no budget.", finance=("cfo",))
    assert (line.choice, line.likely, line.sure) == ("finance", ("finance",), False)
    text = as_text([line], "neo/user", "sha256:0", described(TITLES, finance=("cfo",)))
    assert "\n1  finance ? | Likes whitespace; no budget.\n   # read by cfo\n\n#   " in text


def test_many_readers_are_counted_and_all_are_called_so():
    many = tuple(f"role{number}" for number in range(9))
    readers = {"finance": many, "communication-style": many[:6]}
    text = as_text(proposed("Short answers.", **readers), "neo/user", "sha256:0", described(TITLES, **readers))
    assert "#   finance: Finance. Read by all.\n" in text
    assert " | Short answers.\n   # read by role0, role1, role2, role3 and 2 more\n\n#   " in text


def test_a_guess_is_sure_if_the_next_ones_have_the_same_readers():
    titles = {"invoices": "Invoices", "taxes": "Taxes", "code-stack": "Code Stack"}
    text = "The accountant bills the VAT that is paid."
    readers = {"invoices": ("cfo",), "taxes": ("cfo",), "code-stack": ("coder",)}
    (line,) = proposed(text, titles, **readers)
    assert (set(line.likely), line.sure) == ({"taxes", "invoices"}, True)
    (line,) = proposed(text, titles, **{**readers, "invoices": ("cfo", "clerk")})
    assert not line.sure


def test_what_is_of_the_person_is_seldom_in_the_other_file():
    document = parse("Short answers.")
    categories = described({"communication-style": "", "invoices": ""})
    found = [
        Proposer(document, Config(Path("root")), categories, (), seldom).lines()[0]
        for seldom in ((), ("communication-style",))
    ]
    assert [(line.choice, line.sure) for line in found] == [
        ("communication-style", True),
        ("communication-style", False),
    ]


def test_entries_of_a_category_teach_its_words():
    section = "\n\n## Communication Style\nAsk about blue zorbs."
    assert proposed("The zorbs are blue.\n\n## Communication Style\nx")[0].likely == ()
    assert proposed(f"The zorbs are blue.{section}")[0].likely == ("communication-style",)
    other = "\n\n## Finance\nBlue zorbs cost more.\n§\nNo zorbs."
    assert proposed(f"The zorbs are blue.{section}{other}")[0].likely[0] == "finance"
    assert not proposed(f"The zorbs are blue.{section}{other}")[0].sure


def test_few_entries_make_no_guess_sure():
    own = [
        "Wages go out at the end of the month.",
        "Holiday money is due in the second month.",
        "Third month is closed.",
    ]
    text = "Newsletter is sent in the second week of the month."
    section = "\n\n## Payroll\n"
    titles = {"payroll": "Payroll", "taxes": "Taxes"}
    (line,) = proposed(f"{text}{section}{f'{chr(10)}§{chr(10)}'.join(own)}", titles)
    assert (line.choice, line.sure) == ("payroll", False)
    many = "\n§\n".join(f"Blue zorbs of kind {chr(65 + number) * 3}." for number in range(5))
    (line,) = proposed(f"The blue zorbs sleep.{section}{many}", titles)
    assert (line.choice, line.sure) == ("payroll", True)


def test_words_of_addresses_and_code_teach_nothing():
    section = "\n\n## Finance\nSee https://zorb.example.org/plugh, a@zorb.org, `zorb`.\n```\nzorb\n```"
    assert proposed(f"The zorb plugh.{section}")[0].likely == ()


@together(
    ("text", "choice"),
    [
        ("The servers run nginx.", "ops"),
        ("Docker images are rebuilt at night, and containers restart.", "ops"),
        ("The bank takes a fee.", "money"),
        ("Flights are booked with an aisle seat.", "trips"),
        ("早上九点开会", STAYS),
        ("x" * 5_000, STAYS),
        ("", STAYS),
    ],
)
def test_categories_of_other_names_have_the_words_of_those_that_share_a_name_with_them(text, choice):
    slugs = {"ops": ["infrastructure"], "money": ["bank"], "trips": ["travel"]}
    declared = {slug: Category(slug, slug.title(), tuple(names)) for slug, names in slugs.items()}
    config = Config(Path("root"), taxonomy=Taxonomy(categories=declared))
    document = parse(f"{text}\n§\nz")
    lines = Proposer(document, config, described({slug: slug.title() for slug in slugs}), ()).lines()
    assert lines[0].choice == choice


def test_a_label_goes_before_words():
    (line,) = proposed("Communication style: invoices and taxes, please.", {})
    assert line.choice == STAYS  # it names no declared category
    document = parse("Finance: prefers short answers.")
    config = load_config(NOTES / "nora")
    titles = {each.slug: each.title for each in config.taxonomy.categories.values()}
    (line,) = Proposer(document, config, described(titles), ()).lines()
    assert line.choice == line.likely[0] == "finance"


def test_nothing_near_stays_uncategorized():
    (line,) = proposed("Xyzzy plugh.")
    assert (line.choice, line.likely, line.marks) == (STAYS, (), ())


def test_duplicates_are_marked():
    one, two, three = proposed("Pays all bills.\n§\nPays all bills.\n§\n[source: x] Pays all bills.")
    assert (one.choice, two.choice, three.choice) == ("finance", DROP, "finance")
    assert (one.marks, two.marks, three.marks) == ((), ("the same as entry 1",), ())
    (line,) = proposed("x y\n## Finance\nx y")
    assert (line.choice, line.marks) == (DROP, ("the same as line 3",))


@together(
    ("text", "parts"),
    [
        ("One.\n\nTwo. Three.", ["One.", "Two. Three."]),
        ("- a\n  b\n- c", ["- a\n  b", "- c"]),
        ("Likes tea. Dr. Novak is nice.", ["Likes tea.", "Dr. Novak is nice."]),
        ("Likes tea, e.g. Assam.", ["Likes tea, e.g. Assam."]),
        ("```\na\n\nb\n```", ["```\na\n\nb\n```"]),
    ],
)
def test_parts(text, parts):
    assert parts_of(text) == parts
