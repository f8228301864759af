"""A stand-in for a model on this machine: it answers OpenAI-style chat requests as told, and keeps every request."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "stub-model"


class ModelStub:
    """A server on the loopback. ``answers`` are given in turn: a text, or a tool call (name and arguments)."""

    def __init__(self) -> None:
        self.answers: list[str | tuple[str, dict[str, Any]]] = []
        self.requests: list[bytes] = []
        """The body of every request, whatever it asked for."""
        stub = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                self.send({"object": "list", "data": [{"id": MODEL, "object": "model", "context_length": 200_000}]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                stub.requests.append(body)
                asked = json.loads(body)
                message = stub.next_message(is_turn=bool(asked.get("tools")))
                if asked.get("stream"):
                    self.stream(message)
                else:
                    whole = {"index": 0, "message": message, "finish_reason": finish(message)}
                    self.send({**HEAD, "object": "chat.completion", "choices": [whole], "usage": USAGE})

            def send(self, said: dict[str, Any]) -> None:
                self.reply("application/json", json.dumps(said).encode())

            def stream(self, message: dict[str, Any]) -> None:
                for index, call in enumerate(message.get("tool_calls", [])):
                    call["index"] = index
                pieces = [{"index": 0, "delta": message, "finish_reason": None}]
                pieces += [{"index": 0, "delta": {}, "finish_reason": finish(message)}]
                lines = [{**HEAD, "object": "chat.completion.chunk", "choices": [piece]} for piece in pieces]
                lines += [{**HEAD, "object": "chat.completion.chunk", "choices": [], "usage": USAGE}]
                text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
                self.reply("text/event-stream", text.encode())

            def reply(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True)

    @property
    def url(self) -> str:
        """What a client takes for the address of the API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The requests of the agent itself: those that offer tools. Titles and the like are asked for without."""
        return [asked for asked in map(json.loads, self.requests) if asked.get("tools")]

    def next_message(self, *, is_turn: bool) -> dict[str, Any]:
        """What the model says next; ``Fine.`` when nothing is left to say."""
        answer = self.answers.pop(0) if is_turn and self.answers else "Fine."
        if isinstance(answer, str):
            return {"role": "assistant", "content": answer}
        name, arguments = answer
        call = {
            "id": f"call_{len(self.requests)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


HEAD = {"id": "stub", "created": 0, "model": MODEL}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def finish(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def system_prompt(asked: dict[str, Any]) -> str:
    """The system prompt of a request."""
    (text,) = (message["content"] for message in asked["messages"] if message["role"] == "system")
    return text if isinstance(text, str) else "".join(part["text"] for part in text)


def tool_names(asked: dict[str, Any]) -> Iterator[str]:
    """The names of the tools that a request offers."""
    return (tool["function"]["name"] for tool in asked["tools"])
