"""What the tests of the page rely on: the browser does complain, and axe-core does find barriers."""

import pytest


@pytest.mark.parametrize(
    "script",
    [
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = true'}))",
        "document.body.innerHTML += '<p style=\"color: red\">'",
        "document.body.append(Object.assign(new Image(), {src: 'https://elsewhere.example/x.png'}))",
    ],
    ids=["inline-script", "inline-style", "image-from-elsewhere"],
)
def test_what_the_policy_forbids_is_complained_of(calm, script):
    calm.open("/")
    calm.run(script)
    (said,) = calm.wait(calm.complaints)
    assert "Content Security Policy" in said
    assert calm.run("return window.ran") is None


def test_an_error_of_a_script_is_complained_of(calm):
    calm.open("/")
    calm.run("setTimeout(() => { throw new Error('of the test'); })")
    (said,) = calm.wait(calm.complaints)
    assert "of the test" in said


def test_a_field_without_a_name_and_a_pale_text_are_barriers(calm):
    calm.open("/page/search")
    calm.run("document.querySelector('h1').style.color = '#ddd'")
    calm.run("const select = document.querySelector('select'); select.closest('label').replaceWith(select)")
    assert {each.partition(":")[0] for each in calm.barriers()} == {"color-contrast", "select-name"}
