"""What is made from the package itself: parts of pages, and the stub of types.

`make docs` writes all of it anew, and test_reference.py compares it.
"""

from tests.docs import api_page, cli_reference, errors_page, library_stub, rules_page

GENERATED = (api_page, cli_reference, errors_page, library_stub, rules_page)

if __name__ == "__main__":
    for each in GENERATED:
        each.PAGE.write_text(each.page(), encoding="utf-8")
