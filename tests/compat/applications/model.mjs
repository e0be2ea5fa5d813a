// A stand-in for a model, at loopback: it calls one tool, and ends when it has the tool's result. It speaks the interfaces of
// Anthropic, Google and OpenAI (chat completions and responses), as far as the applications of the matrix need them.
//
//   node model.mjs TOOL ARGUMENTS
//
// TOOL is the end of the tool's name, ARGUMENTS a JSON object. Lines on standard output: the port; then for each request
// that offers tools {"tools": [NAME…]}, and {"result": TEXT} for each one that has a result.

import { createServer } from "node:http";

const [tool, text] = process.argv.slice(2);
const wanted = JSON.parse(text);
const DONE = "The tool has answered.";
const CALL = "call_1";

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const flat = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** What each interface says of its tools and results, and how a call and a text are written in it. */
const interfaces = [
  {
    path: /\/messages$/,
    tools: (body) => (body.tools ?? []).map((each) => each.name),
    results: (body) =>
      body.messages
        .flatMap((message) => (Array.isArray(message.content) ? message.content : []))
        .filter((block) => block.type === "tool_result")
        .map((block) => flat(block.content)),
    answer: (body, name) => {
      const block = name ? { type: "tool_use", id: "toolu_1", name, input: wanted } : { type: "text", text: DONE };
      const message = {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: body.model,
        stop_sequence: null,
        stop_reason: name ? "tool_use" : "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      };
      if (!body.stream) return { json: { ...message, content: [block] } };
      const delta = name
        ? { type: "input_json_delta", partial_json: JSON.stringify(wanted) }
        : { type: "text_delta", text: DONE };
      const empty = name ? { ...block, input: {} } : { type: "text", text: "" };
      const events = [
        { type: "message_start", message: { ...message, content: [], stop_reason: null } },
        { type: "content_block_start", index: 0, content_block: empty },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: message.stop_reason, stop_sequence: null },
          usage: { output_tokens: 1 },
        },
        { type: "message_stop" },
      ];
      return { events: events.map((event) => ({ name: event.type, data: event })) };
    },
  },
  {
    path: /\/chat\/completions$/,
    tools: (body) => (body.tools ?? []).map((each) => each.function.name),
    results: (body) =>
      body.messages.filter((message) => message.role === "tool").map((message) => flat(message.content)),
    answer: (body, name) => {
      const call = {
        index: 0,
        id: CALL,
        type: "function",
        function: { name, arguments: JSON.stringify(wanted) },
      };
      const said = name ? { role: "assistant", tool_calls: [call] } : { role: "assistant", content: DONE };
      const reason = name ? "tool_calls" : "stop";
      const whole = { id: "chat_1", created: 0, model: body.model };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      if (!body.stream) {
        const choices = [{ index: 0, message: said, finish_reason: reason }];
        return { json: { ...whole, object: "chat.completion", choices, usage } };
      }
      const chunk = (delta, finish_reason) => ({
        data: { ...whole, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
      });
      const last = { data: { ...whole, object: "chat.completion.chunk", choices: [], usage } };
      return { events: [chunk(said, null), chunk({}, reason), last, { data: "[DONE]" }] };
    },
  },
  {
    path: /\/responses$/,
    tools: (body) =>
      (body.tools ?? []).flatMap((each) =>
        each.type === "namespace" ? each.tools.map((inner) => [each.name, inner.name].join(" ")) : [each.name],
      ),
    results: (body) =>
      body.input.filter((item) => item.type === "function_call_output").map((item) => flat(item.output)),
    answer: (_body, found) => {
      const [namespace, name] = found?.includes(" ") ? found.split(" ") : [undefined, found];
      const item = name
        ? { type: "function_call", id: "fc_1", call_id: CALL, name, namespace, arguments: JSON.stringify(wanted) }
        : { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: DONE }] };
      const usage = {
        input_tokens: 1,
        input_tokens_details: null,
        output_tokens: 1,
        output_tokens_details: null,
        total_tokens: 2,
      };
      const events = [
        { type: "response.created", response: { id: "resp_1" } },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { id: "resp_1", usage } },
      ];
      return { events: events.map((event) => ({ name: event.type, data: event })) };
    },
  },
  {
    path: /:(streamGenerateContent|generateContent)$/,
    tools: (body) => (body.tools ?? []).flatMap((each) => (each.functionDeclarations ?? []).map((inner) => inner.name)),
    results: (body) =>
      body.contents
        .flatMap((content) => content.parts)
        .filter((part) => part.functionResponse)
        .map((part) => flat(part.functionResponse.response)),
    answer: (_body, name, path) => {
      const parts = [name ? { functionCall: { name, args: wanted } } : { text: DONE }];
      const candidates = [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }];
      const json = { candidates, usageMetadata: { promptTokenCount: 1, totalTokenCount: 2 } };
      return path.endsWith("streamGenerateContent") ? { events: [{ data: json }] } : { json };
    },
  },
];

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString() || "{}");
}

function write(response, { json, events }) {
  if (json) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(json));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const { name, data } of events) {
    response.write(`${name ? `event: ${name}\n` : ""}data: ${flat(data)}\n\n`);
  }
  response.end();
}

const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://127.0.0.1").pathname;
  const spoken = interfaces.find((each) => each.path.test(path));
  if (request.method !== "POST" || !spoken) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"error":{"message":"There is no such address.","type":"not_found_error"}}');
    return;
  }
  const body = await read(request);
  const tools = spoken.tools(body);
  const results = spoken.results(body);
  if (tools.length > 0) say({ tools });
  for (const result of results) say({ result });
  const called = results.length === 0 ? tools.find((name) => name?.endsWith(tool)) : undefined;
  write(response, spoken.answer(body, called, path));
});

server.listen(0, "127.0.0.1", () => say(server.address().port));
