"""The detectors of secrets. The corpora in tests/threats hold a text or more for each; here are the edges."""

import base64

from catmem.threats import SECRETS, scan, scan_each, scan_secrets
from tests.threats import report
from tests.together import together

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9" * 2


def shown(text: str) -> list[tuple[str, str]]:
    return [(found.rule, text[found.start : found.end]) for found in scan(text)]


@together("rule", SECRETS)
def test_each_secret_is_found_by_its_own_detector_and_no_threat_rule(rule):
    for text in report.load("attacks")[rule]:
        assert {found.rule for found in scan(text)} <= {*SECRETS, "hidden-markup"}, text


@together("text", [TOKEN, f"({TOKEN})", f"`{TOKEN}`", f"CI:{TOKEN}.", f"Größe {TOKEN}", f"x\n{TOKEN}\ny"])
def test_the_span_is_the_secret_alone(text):
    assert shown(text) == [("github-token", TOKEN)]


def test_a_private_key_is_found_with_its_whole_body():
    key = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(["aB3dE5" * 10] * 3) + "\n-----END PRIVATE KEY-----"
    assert shown(f"Key:\n{key}\nend") == [("private-key", key)]


def test_a_private_key_without_an_end_reaches_to_the_end_of_its_body():
    text = "-----BEGIN PRIVATE KEY-----\n" + "aB3dE5" * 10
    assert shown(text) == [("private-key", text)]


@together("value", ["billing:s3cret-and-more", "ana:correct horse battery"], ids=["one-word", "several-words"])
def test_basic_authentication_is_judged_by_what_it_decodes_to(value):
    encoded = base64.b64encode(value.encode()).decode()
    assert [rule for rule, _ in shown(f"Authorization: Basic {encoded}")] == ["basic-auth"]


@together("text", ["Basic understanding_of_finance", "basic authenticationwithout", "Basic AAAAAAAAAAAAAAAA"])
def test_what_decodes_to_no_name_and_password_passes(text):
    assert shown(text) == []


@together(
    "password",
    ["password", "$PASSWORD", "${DB_PASSWORD}", "<password>", "{password}", "xxxx", "***", "db_user", "1234"],
)
def test_a_link_with_a_stand_in_for_the_password_passes(password):
    assert "basic-auth" not in {rule for rule, _ in shown(f"postgres://db:{password}@localhost/db")}


def test_only_the_login_of_a_link_is_shown():
    assert shown("see https://ana:Kx9-tulip@wiki.example.org/x") == [("basic-auth", "ana:Kx9-tulip")]


def test_a_token_cut_in_two_by_a_delimiter_is_two_harmless_halves():
    assert scan_each([TOKEN[:20], TOKEN[20:]]) == [[], []]


def test_capitals_that_grow_in_small_letters_do_not_move_a_span():
    text = f"İİİİ password: {TOKEN[4:]}"
    assert all(text[found.start : found.end] in text for found in scan_secrets(text))
    assert shown(f"İ {TOKEN}") == [("github-token", TOKEN)]
