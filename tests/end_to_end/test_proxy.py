"""The nginx file of docs/server.md, as it stands there, before a server that runs."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import closing

import pytest

from catmem.workspace.workspace import Workspace
from tests.docs.pages import ROOT, read
from tests.end_to_end.terminal import run_json, write_root
from tests.end_to_end.test_serve import SECONDS, serving

PROGRAMS = ("nginx", "openssl")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
NAME = "memory.example.org"
RATE, BURST, CONNECTIONS = 20, 40, 32

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def block():
    page = read("docs/server.md", (ROOT / "docs" / "server.md").read_text(encoding="utf-8"))
    (found,) = [example.text for example in page.examples if example.language == "nginx"]
    return found


def changed(text, *changes):
    """The text with each part, which has to be there, replaced."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Proxy:
    """nginx before a server, and a client that trusts its certificate. ``token`` is that of a person."""

    def __init__(self, folder, server, token):
        self.server, self.token = server, token
        self.root = folder / "root"
        self.plain, self.secure = free_ports(2)
        certificate = self._certificate(folder)
        self.context = ssl.create_default_context(cafile=certificate)
        self.context.check_hostname = False  # it is called by its address here
        places = "".join(
            f"    {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        text = changed(
            block(),
            ("127.0.0.1:8428", f"127.0.0.1:{server.address[1]}"),
            ("listen 80;", f"listen 127.0.0.1:{self.plain};"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.secure} ssl;"),
            ("/etc/ssl/memory.example.org.pem", str(certificate)),
            ("/etc/ssl/memory.example.org.key", str(folder / "key.pem")),
            ("10s;", "1s;"),  # nobody here waits so long
            ("rate=50r/s", f"rate={RATE}r/s"),
            ("limit_conn connections 64", f"limit_conn connections {CONNECTIONS}"),
            ("burst=200", f"burst={BURST}"),
            ("http {\n", f"http {{\n    access_log off;\n{places}"),
        )
        # The workers of root would be somebody else, who may not write here.
        text = f"pid {folder}/pid;\ndaemon off;\n{'user root;' if folder.stat().st_uid == 0 else ''}\n{text}"
        self.file = folder / "nginx.conf"
        self.file.write_text(text, encoding="utf-8")
        self.command = ["nginx", "-p", str(folder), "-c", str(self.file), "-e", str(folder / "error.log")]
        checked = subprocess.run([*self.command, "-t"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
        assert "[warn]" not in checked.stderr

    @staticmethod
    def _certificate(folder):
        place = folder / "certificate.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
        subprocess.run([*command, "-keyout", folder / "key.pem", "-out", place], capture_output=True, check=True)
        return place

    def connect(self):
        return self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.secure), timeout=SECONDS))

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body of an answer."""
        with closing(
            http.client.HTTPSConnection("127.0.0.1", self.secure, timeout=SECONDS, context=self.context)
        ) as way:
            headers = {"Host": NAME, "Authorization": f"Bearer {self.token}", **headers}
            way.request(method, path, body, headers)
            answer = way.getresponse()
            return answer.status, answer.headers, answer.read()

    def calm(self):
        """Wait until as many requests may come at once as at the start."""
        time.sleep(BURST / RATE)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    write_root(folder / "root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        token = run_json("token", "new", "anna", "--person", "--root", folder / "root")["token"]
        with serving(folder / "root", "--allow-host", NAME) as server:
            made = Proxy(folder, server, token)
            with subprocess.Popen(made.command, stderr=subprocess.PIPE) as process:
                try:
                    for _ in range(SECONDS * 100):
                        with socket.socket() as probe:
                            if probe.connect_ex(("127.0.0.1", made.secure)) == 0:
                                break
                        time.sleep(0.01)
                    yield made
                finally:
                    process.terminate()
                    process.wait(SECONDS)


def test_what_the_server_says_comes_through_by_the_name_of_the_proxy(proxy):
    assert proxy.ask("GET", "/readyz")[::2] == (200, b'{"status":"ready"}')
    assert proxy.ask("GET", "/readyz", Host="elsewhere.example")[0] == 400
    assert proxy.ask("GET", "/mem/head?entity_id=boss", Authorization="")[0] == 401
    status, headers, _ = proxy.ask("GET", "/mem/read?entity_id=boss")
    assert (status, headers["Cache-Control"]) == (200, "no-store")


def test_a_write_comes_through(proxy):
    content = [{"action": "add", "content": "It came through.", "category": "rules"}]
    body = json.dumps({"entity_id": "boss/user", "prev_rev": 0, "content": content})
    origin = {"Content-Type": "application/json", "Origin": f"https://{NAME}"}
    assert proxy.ask("POST", "/mem/write", body, **origin)[0] == 200
    workspace = Workspace.open(proxy.root, search=False)
    assert [entry.body for entry in workspace.view("boss", "user").entries] == ["It came through."]
    workspace.store.close()


def test_without_tls_everybody_is_sent_to_where_it_is(proxy):
    with closing(http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=SECONDS)) as way:
        way.request("GET", "/mem/head?entity_id=boss", headers={"Host": NAME})
        answer = way.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}/mem/head?entity_id=boss")


def test_a_body_that_is_too_long_does_not_reach_the_server(proxy):
    status, _, body = proxy.ask("POST", "/mem/write", b"x" * ((1 << 20) + 1))
    assert (status, b"nginx" in body) == (413, True)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HTTP/1.1\r\nX-Slow: ", b"POST /mem/write HTTP/1.1\r\nHost: %b\r\nContent-Length: 9\r\n\r\n{"],
    ids=["nothing", "half a header", "half a body"],
)
def test_who_does_not_go_on_is_left_and_takes_no_place_at_the_server(proxy, sent):
    slow = [proxy.connect() for _ in range(20)]
    try:
        for client in slow:
            client.sendall(sent.replace(b"%b", NAME.encode()))
        assert proxy.ask("GET", "/healthz")[0] == 200
        assert all(client.recv(4096)[:12] in {b"", b"HTTP/1.1 408"} for client in slow)
    finally:
        for client in slow:
            client.close()


def test_so_many_requests_come_through_at_once(proxy):
    proxy.calm()
    statuses = []
    lock = threading.Lock()

    def ask():
        for _ in range(20):
            status = proxy.ask("GET", "/healthz")[0]
            with lock:
                statuses.append(status)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200, 429}
    assert statuses.count(200) > BURST


def test_so_many_connections_of_one_address_are_served(proxy):
    begun = f"POST /mem/write HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 9\r\n\r\n{{"
    clients = []
    try:
        proxy.calm()
        for _ in range(CONNECTIONS):
            clients.append(proxy.connect())
            clients[-1].sendall(begun.encode())
        assert proxy.ask("GET", "/healthz")[0] == 429
    finally:
        for client in clients:
            client.close()
