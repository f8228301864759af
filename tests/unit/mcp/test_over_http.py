"""Where the HTTP server listens, and where it does not."""

from __future__ import annotations

import pytest

from catmem.errors import ConfigError
from catmem.mcp.over_http import listen, url_of


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_is_fine(host):
    with listen(host, 0) as listening:
        port = listening.getsockname()[1]
        assert url_of(listening).endswith(f":{port}/mcp")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "8.8.8.8", "::ffff:8.8.8.8"])  # noqa: S104 - refused
def test_any_other_address_is_refused_with_the_reason(host):
    with pytest.raises(ConfigError, match="whoever reaches the server reads and writes memory") as caught:
        listen(host, 0)
    assert caught.value.code == "not_loopback"
    assert "tokens" in caught.value.hint


def test_a_port_that_is_taken_is_an_error():
    with listen("127.0.0.1", 0) as listening, pytest.raises(ConfigError, match="cannot listen") as caught:
        listen("127.0.0.1", listening.getsockname()[1])
    assert caught.value.code == "cannot_listen"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70, "not a host"])
def test_a_name_that_leads_nowhere_is_an_error(host):
    with pytest.raises(ConfigError) as caught:
        listen(host, 0)
    assert caught.value.code == "cannot_listen"
