import pytest

from catmem.digest import bytes_digest, canonical_json, content_digest


def test_canonical_json_has_one_form():
    assert canonical_json({"b": [1, "é\n"], "a": None}) == '{"a":null,"b":[1,"é\\n"]}'.encode()
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


def test_what_is_not_json_has_none():
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
    with pytest.raises(TypeError):
        canonical_json({1, 2})


def test_digests_name_their_algorithm_and_are_stable():
    assert content_digest(["x", {}]) == "b2:" + _blake2b(b'["x",{}]')
    assert bytes_digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def _blake2b(data):
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()
