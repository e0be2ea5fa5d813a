"""A model behind the streaming APIs of OpenAI (both), Anthropic and Gemini, in the shapes of their documents, for clients
that are not ours. To a prompt `call NAME {json}` it calls that tool, in fragments; given the result, it says what it got.
Prints its address."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def planned(prompt, result):
    """The name and the arguments of the call that the model makes, or what it says."""
    call = re.fullmatch(r"call (\S+) (\{.*\})", prompt)
    if call and result is None:
        return call[1], call[2], None
    return None, None, f"The tool said: {json.dumps(result)}"


def halves(text):
    middle = len(text) // 2
    return text[:middle], text[middle:]


def chat(body):
    messages = body["messages"]
    prompt = next(one["content"] for one in messages if one["role"] == "user")
    last = messages[-1]
    name, arguments, text = planned(prompt, last["content"] if last["role"] == "tool" else None)

    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        return None, {**head, "choices": [choice]}

    if name:
        begin = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"role": "assistant", "content": None, "tool_calls": [begin]})
        for part in halves(arguments):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
        yield chunk({}, "tool_calls")
    else:
        for part in halves(text):
            yield chunk({"role": "assistant", "content": part})
        yield chunk({}, "stop")
    yield None, "[DONE]"


def responses(body):
    items = body["input"]
    prompt = next(one["content"] for one in items if one.get("role") == "user")
    last = items[-1]
    result = last["output"] if last.get("type") == "function_call_output" else None
    name, arguments, text = planned(prompt, result)
    if name:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
        output = [{**item, "arguments": arguments}]
    else:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        output = [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        ]
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body["tools"],
    }
    yield "response.completed", {"type": "response.completed", "sequence_number": 0, "response": response}


def messages(body):
    given = body["messages"]
    last = given[-1]["content"]
    result = last[0] if isinstance(last, list) and last[0]["type"] == "tool_result" else None
    name, arguments, text = planned(given[0]["content"], result)
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    events = [{"type": "message_start", "message": message}]
    if name:
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in halves(arguments)]
    else:
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in halves(text)]
    events.append({"type": "content_block_start", "index": 0, "content_block": block})
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    events.append({"type": "content_block_stop", "index": 0})
    reason = {"stop_reason": "tool_use" if name else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 2}})
    events.append({"type": "message_stop"})
    for event in events:
        yield event["type"], event


def gemini(body):
    contents = body["contents"]
    result = contents[-1]["parts"][0].get("functionResponse")
    name, arguments, text = planned(contents[0]["parts"][0]["text"], result)
    if name:
        parts = [{"functionCall": {"name": name, "args": json.loads(arguments)}, "thoughtSignature": "c2lnbmVk"}]
    else:
        parts = [{"text": part} for part in halves(text)]
    for part in parts:
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        yield None, {"candidates": [candidate]}


class Model(BaseHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        apis = {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages}
        api = apis.get(path, gemini if path.endswith(":streamGenerateContent") else None)
        if api is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for name, data in api(body):
            event = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{event}data: {text}\n\n".encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
