"""An MCP server for tests: its tools are in tools.json of the folder that it is given, and every line
that it gets for a call is appended to calls.log there, byte for byte. When tools.json changes it says
so. A call is answered as the tool's `_meta.does` says."""

import json
import os
import sys
import threading
import time

folder = sys.argv[1]
tools_file = os.path.join(folder, "tools.json")
writing = threading.Lock()
QUESTION = '{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}'


def send(text):
    with writing:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def log(line):
    with open(os.path.join(folder, "calls.log"), "a", encoding="utf-8") as out:
        out.write(line.rstrip("\n") + "\n")


def definitions():
    with open(tools_file, encoding="utf-8") as source:
        return source.read().strip()


def watch():
    before = definitions()
    while True:
        time.sleep(0.01)
        now = definitions()
        if now and now != before:
            before = now
            send('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')


def call(message, line):
    log(line)
    name = message["params"]["name"]
    ident = json.dumps(message["id"])
    does = next((t.get("_meta", {}).get("does") for t in json.loads(definitions()) if t.get("name") == name), None)
    if does == "hang":
        return
    if does in ("asks", "asks-and-answers"):
        send('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}' % QUESTION)
        if does == "asks":
            return
    if does == "requires" and "inputResponses" not in message["params"]:
        send('{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":%s}},"requestState":"state-1"}}' % (ident, QUESTION))
        return
    if does == "rounds" and "inputResponses" not in message["params"]:
        send('{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{},"requestState":"state-1"}}' % ident)
        return
    if does == "progress":
        token = json.dumps(message["params"].get("_meta", {}).get("progressToken"))
        for step in ("1", "2"):
            send('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s,"x":null}}' % (token, step))
    send('{"jsonrpc":"2.0","id":%s,"result":{ "odd":12345678901234567890, "n":1.00 ,"content":[],"z":null,"a":"\\u0041"}}' % ident)


for line in sys.stdin:
    message = json.loads(line)
    method, ident = message.get("method"), json.dumps(message.get("id"))
    if method == "initialize":
        send('{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}}' % ident)
        threading.Thread(target=watch, daemon=True).start()
    elif method == "tools/list":
        send('{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}' % (ident, definitions()))
    elif method == "tools/call":
        call(message, line)
    elif method == "notifications/cancelled":
        log("# cancelled: " + message["params"].get("reason", ""))
    elif method == "ping":
        send('{"jsonrpc":"2.0","id":%s,"result":{}}' % ident)
    elif method is None:
        log("# answered: " + line)
    elif "id" in message:
        send('{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}' % ident)
