# SPDX-License-Identifier: Apache-2.0
# stub.py - small servers on the loopback that behave as nodes do, well or badly; each stops by itself with its test
import json
import socket
import ssl
import threading
import time


def answer(body, status="200 OK", headers=(), length=None):
    """An HTTP answer; length: what it says of itself."""
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def not_there():
    return answer("{\"detail\":\"Not Found\"}", "404 Not Found")


class Stub:
    """behave(path, headers, body) gives the bytes of an answer, an iterable of pieces, or None to close without a word."""

    def __init__(self, behave, tls=None):
        self.behave, self.tls, self.asked = behave, tls, []
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.over = threading.Event()
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.socket.shutdown(socket.SHUT_RDWR)  # or a thread in accept() takes one more
        self.socket.close()

    def accept(self):
        while not self.over.is_set():
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            conn.settimeout(10)
            if self.tls:
                conn = self.tls.wrap_socket(conn, server_side=True)
            data = b""
            while b"\r\n\r\n" not in data:
                piece = conn.recv(65536)
                if not piece:
                    return
                data += piece
            head, body = data.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
            while len(body) < int(headers.get("content-length", 0)):
                piece = conn.recv(1 << 20)
                if not piece:
                    return
                body += piece
            path = lines[0].split(" ")[1]
            with self.lock:
                self.asked.append((path, headers, body))
            given = self.behave(path, headers, body)
            for piece in [given] if isinstance(given, bytes) else given or []:
                conn.sendall(piece)
        except (OSError, ssl.SSLError):
            pass
        finally:
            conn.close()


def sglang(name_model="m-1t", version="0.5.22", pool=681280, context=1048576, role="null", extra=None, older=False):
    """A healthy node. older: under the names that these paths had before."""
    info = {"model_path": f"/models/{name_model}", "context_length": context, "host": "0.0.0.0", "port": 30000, "page_size": 64, "tp_size": 1,
            "dp_size": 1, "disaggregation_mode": role, "disaggregation_transfer_backend": "mooncake", "max_total_num_tokens": pool,
            "max_req_input_len": min(context, pool) - 6, "internal_states": [{}], "version": version, **(extra or {})}
    model = {"model_path": f"/models/{name_model}", "tokenizer_path": f"/models/{name_model}", "is_generation": True}
    models = {"object": "list", "data": [{"id": name_model, "object": "model", "owned_by": "sglang", "root": name_model, "max_model_len": context}]}
    metrics = ("# HELP sglang:max_total_num_tokens Tokens of the pool.\n# TYPE sglang:max_total_num_tokens gauge\n"
               f'sglang:max_total_num_tokens{{engine_type="unified",model_name="{name_model}"}} {pool}.0\n')
    pages = {"/get_server_info" if older else "/server_info": json.dumps(info, indent=1), "/get_model_info" if older else "/model_info": json.dumps(model),
             "/v1/models": json.dumps(models), "/metrics": metrics}

    def behave(path, headers, body):
        return answer(pages[path]) if path in pages else not_there()
    behave.pages = pages
    return behave


def vllm(pool=681280, context=1048576):
    pages = {"/v1/models": json.dumps({"object": "list", "data": [{"id": "m-1t", "object": "model", "owned_by": "vllm", "root": "/models/m-1t",
                                                                   "parent": None, "max_model_len": context}]}),
             "/metrics": f'vllm:cache_config_info{{block_size="16",engine="0",num_gpu_blocks="{pool // 16}"}} 1.0\n'}
    return lambda path, *_: answer(pages[path]) if path in pages else not_there()


def slow(seconds):
    def behave(*_):
        time.sleep(seconds)
        return answer("{}")
    return behave


def pieces_without_end(head, piece, most=400):
    """Stops by itself, at the latest after `most` pieces."""
    def behave(path, headers, body):
        def give():
            yield head
            for _ in range(most):
                yield piece
        return give()
    return behave


class Endpoint:
    """An OpenAI-compatible endpoint. limit: tokens from which on it refuses; leaks: a prompt over it is answered from what another
    request said. It counts list entries, or words."""

    def __init__(self, limit, leaks=False, early_error=True):
        self.limit, self.leaks, self.early_error = limit, leaks, early_error
        self.memory, self.lock, self.models = [], threading.Lock(), ["m-of-the-stub"]

    def __call__(self, path, headers, body):
        if path == "/v1/models":
            return answer(json.dumps({"object": "list", "data": [{"id": m, "object": "model"} for m in self.models]}))
        doc = json.loads(body)
        prompt = doc["prompt"] if "prompt" in doc else doc["messages"][0]["content"]
        n = len(prompt if isinstance(prompt, list) else prompt.split())
        chat = path.endswith("/chat/completions")
        said, usage = "ok", {"prompt_tokens": n, "completion_tokens": 1}
        if n >= self.limit:
            if not self.leaks or not self.memory:
                return self.refuse(n, doc["stream"])
            said = f"Sure. As the other one said: {self.memory[-1]} \x1b[31m"
            usage = {"prompt_tokens": 1, "completion_tokens": 12}
        elif isinstance(prompt, str):
            with self.lock:
                self.memory.append(prompt.split()[-1])
        rid = doc.get("rid") or "cmpl-of-the-stub-" + headers["x-request-id"]
        if not doc["stream"]:
            choice = {"index": 0, "finish_reason": "stop", **({"message": {"role": "assistant", "content": said}} if chat else {"text": said})}
            return answer(json.dumps({"id": rid, "object": "text_completion", "choices": [choice], "usage": usage}))
        events = [{"id": rid, "choices": [{"index": 0, "finish_reason": None,
                                           **({"delta": {"content": said[i:i + 5]}} if chat else {"text": said[i:i + 5]})}]}
                  for i in range(0, len(said), 5)]
        events.append({"id": rid, "choices": [{"index": 0, "finish_reason": "stop", **({"delta": {}} if chat else {"text": ""})}]})
        events.append({"id": rid, "choices": [], "usage": usage})
        return self.stream(events)

    @staticmethod
    def stream(events, done=True):
        text = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + ("data: [DONE]\n\n" if done else "")
        return answer(text, headers=["Content-Type: text/event-stream"])

    def refuse(self, n, stream):
        message = f"Input length ({n} tokens) exceeds the maximum allowed length ({self.limit} tokens)."
        if stream and not self.early_error:  # as an event of a stream whose status is 200
            return self.stream([{"error": {"object": "error", "message": message, "code": 400}}])
        return answer(json.dumps({"object": "error", "message": message, "type": "BadRequestError", "code": 400}), "400 Bad Request")
