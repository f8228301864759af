"""`catmem serve` in a process of its own, and curl, as an agent on another machine has it."""

import json
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

SECONDS = 60
CURL = shutil.which("curl")


@contextmanager
def serving(root, *options):
    """The address of a server of the root, which is ended after."""
    command = [
        sys.executable,
        "-m",
        "catmem",
        "serve",
        "--root",
        str(root),
        "--port",
        "0",
        "--format",
        "json",
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, process.stderr.read()
                said += line
            yield json.loads(said)["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def curl(url, *options, token=None, body=None):
    """Status, headers and body of an answer, as curl gets them."""
    command = [CURL, "--silent", "--show-error", "--max-time", str(SECONDS), "--include", *options]
    if token is not None:
        command += ["--header", f"Authorization: Bearer {token}"]
    if body is not None:
        command += ["--header", "Content-Type: application/json", "--data-binary", "@-"]
    sent = None if body is None else json.dumps(body).encode()
    result = subprocess.run([*command, url], input=sent, capture_output=True, check=True, timeout=SECONDS)
    head, _, rest = result.stdout.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(status.split()[1]), headers, rest
