"""From a flat file to sections: what category each entry may have, a list to correct, and the text that it makes.

::

    document ── likely_categories ──> proposals ── sort_list <──> a person's editor, a program's JSON, a model's answer
                                                      │
                                                      └── sorted_text ──> one new text ── sort_files ──> one revision
"""
