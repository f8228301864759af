"""Drive the reference memory server over stdio: ``python remember_server_memory.py NODE INDEX_JS FILE``."""

import json
import os
import subprocess
import sys

ENTITIES = [
    {"name": "John_Smith", "entityType": "person", "observations": ["Speaks fluent Spanish", "Graduated in 2019"]},
    {"name": "Anthropic", "entityType": "organization", "observations": []},
]
CALLS = [
    ("create_entities", {"entities": ENTITIES}),
    ("create_relations", {"relations": [{"from": "John_Smith", "to": "Anthropic", "relationType": "works_at"}]}),
    ("add_observations", {"observations": [{"entityName": "John_Smith", "contents": ["Prefers morning meetings"]}]}),
]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "catmem tests", "version": "1"}}


def main(node: str, server: str, file: str) -> None:
    environment = {**os.environ, "MEMORY_FILE_PATH": file}
    with subprocess.Popen(
        [node, server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:

        def send(message: dict[str, object]) -> None:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()

        def ask(number: int, method: str, params: dict[str, object]) -> dict[str, object]:
            send({"id": number, "method": method, "params": params})
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:
                    assert not answer.get("error"), answer
                    assert not answer["result"].get("isError"), answer
                    return answer["result"]
            raise EOFError

        ask(0, "initialize", HELLO)
        send({"method": "notifications/initialized"})
        for number, (name, arguments) in enumerate(CALLS, 1):
            ask(number, "tools/call", {"name": name, "arguments": arguments})
        process.stdin.close()
        process.wait(timeout=30)


if __name__ == "__main__":
    main(*sys.argv[1:])
