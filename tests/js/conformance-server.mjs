// The sample server of the conformance suite's server role, on the official SDK: it has what the descriptions of the
// suite's scenarios ask for, on 2025-11-25 with sessions and on 2026-07-28 without, at http://127.0.0.1:PORT/mcp. PORT is
// the first argument, 0 for a free one; {"url":…} is printed when it listens.
import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  createRequestStateCodec,
  isLegacyRequest,
  McpServer,
  ProtocolError,
} from "@modelcontextprotocol/server";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mNQaDgAAAIkAWHj6Uk8AAAAAElFTkSuQmCC";
const WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAjIB0gIyAdA==";

const text = (words) => ({ type: "text", text: words });
const said = (words) => ({ content: [text(words)] });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, words) => ({ type: "resource", resource: { uri, mimeType, text: words } });

const object = (properties = {}, required = Object.keys(properties)) => ({ type: "object", properties, required });
const words = { type: "string" };

// Questions, as members of "inputRequests" and as requests of their own.
const form = (message, properties) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: object(properties) },
});
const sample = (prompt, maxTokens) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(prompt) }], maxTokens },
});
const roots = { method: "roots/list", params: {} };
const whatName = form("What is your name?", { name: words });

const state = createRequestStateCodec({ key: randomBytes(32) });
const ask = async (inputRequests, known) => ({
  resultType: "input_required",
  inputRequests,
  ...(known === undefined ? {} : { requestState: await state.mint(known) }),
});

// What was answered to a question; undefined unless it is a form that was accepted with a text or a flag in it.
const filledIn = (request, question, field, type = "string") => {
  const { action, content } = request.inputResponses?.[question] ?? {};
  return action === "accept" && typeof content?.[field] === type ? content[field] : undefined;
};

const missingCapability = (capability) =>
  new ProtocolError(-32021, `The client must support ${capability}.`, { requiredCapabilities: { [capability]: {} } });

const primitives = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};
const titled = (noun) =>
  ["First", "Second", "Third"].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${noun}` }));
const options = ["option1", "option2", "option3"];
const choices = {
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled("Option") },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: options } },
  titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
};

const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: { $anchor: "addressDef", type: "object", properties: { street: words, city: words } },
  },
  properties: {
    name: words,
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: words,
    email: words,
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

// Asks in the way of the request's revision: a request of the server's own, or a result that says what is required.
const askFor = (question, finish) => async (request) => {
  if (!request.isModern) return finish(await request.send(question));
  const answer = request.inputResponses?.question;
  return answer === undefined ? ask({ question }) : finish(answer);
};

const reply = (label) => (answer) =>
  said(`${label}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);

async function inProgress(request) {
  const progressToken = request.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await wait(50);
    if (progressToken === undefined) continue;
    await request.notify("notifications/progress", { progressToken, progress, total: 100 });
  }
  return said("Three steps were made.");
}

async function logged(request) {
  await request.log("info", "Tool execution started");
  await wait(50);
  await request.log("info", "Tool processing data");
  await wait(50);
  await request.log("info", "Tool execution completed");
  return said("Three messages were logged.");
}

async function withState(request) {
  const ok = filledIn(request, "confirm", "ok", "boolean");
  if (ok === undefined || request.state === undefined) {
    return ask({ confirm: form("Please confirm", { ok: { type: "boolean" } }) }, { step: 1 });
  }
  return said("state-ok");
}

async function inSteps(request) {
  const name = request.state?.name ?? filledIn(request, "step1", "name");
  const color = filledIn(request, "step2", "color");
  if (name === undefined || request.state === undefined) {
    return ask({ step1: form("Step 1: What is your name?", { name: words }) }, {});
  }
  if (color === undefined) {
    return ask({ step2: form("Step 2: What is your favorite color?", { color: words }) }, { name });
  }
  return said(`${name} likes ${color}.`);
}

async function severalQuestions(request) {
  const name = filledIn(request, "user_name", "name");
  const greeting = request.inputResponses?.greeting?.content?.text;
  const folders = request.inputResponses?.client_roots?.roots;
  if (name === undefined || greeting === undefined || folders === undefined || request.state === undefined) {
    return ask({ user_name: whatName, greeting: sample("Generate a greeting", 50), client_roots: roots }, {});
  }
  return said(`${greeting} ${name}, ${folders.length} roots`);
}

async function whatIsSupported(request) {
  const questions = {
    elicitation: ["user_name", whatName],
    sampling: ["greeting", sample("Generate a greeting", 50)],
    roots: ["client_roots", roots],
  };
  const supported = Object.entries(questions).filter(([capability]) => request.capabilities[capability]);
  const asked = supported.map(([, question]) => question);
  const isAnswered = asked.every(([key]) => request.inputResponses?.[key] !== undefined);
  return isAnswered ? said(`${asked.length} questions were answered.`) : ask(Object.fromEntries(asked));
}

// Name: description, input schema, what it does.
const TOOLS = {
  test_simple_text: ["Answers a text.", object(), () => said("This is a simple text response for testing.")],
  test_image_content: ["Answers an image.", object(), () => ({ content: [image] })],
  test_audio_content: [
    "Answers a sound.",
    object(),
    () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  ],
  test_embedded_resource: [
    "Answers a resource.",
    object(),
    () => ({
      content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    }),
  ],
  test_multiple_content_types: [
    "Answers several kinds of content.",
    object(),
    () => ({
      content: [
        text("Multiple content types test:"),
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    }),
  ],
  test_tool_with_logging: ["Logs three messages.", object(), logged],
  test_logging_tool: ["Logs three messages.", object(), logged],
  test_error_handling: [
    "Fails.",
    object(),
    () => ({ isError: true, ...said("This tool intentionally returns an error for testing") }),
  ],
  test_tool_with_progress: ["Makes three steps.", object(), inProgress],
  test_sampling: [
    "Asks the client's model.",
    object({ prompt: words }),
    (request) =>
      askFor(sample(request.arguments.prompt, 100), ({ content }) => said(`LLM response: ${content?.text}`))(request),
  ],
  test_elicitation: [
    "Asks the user.",
    object({ message: words }),
    (request) => {
      const properties = {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      };
      return askFor(form(request.arguments.message, properties), reply("User response"))(request);
    },
  ],
  test_elicitation_sep1034_defaults: [
    "Asks the user, with defaults.",
    object(),
    askFor(form("Please check the defaults.", primitives), reply("Elicitation completed")),
  ],
  test_elicitation_sep1330_enums: [
    "Asks the user to choose.",
    object(),
    askFor(form("Please choose.", choices), reply("Elicitation completed")),
  ],
  test_reconnection: [
    "Closes its stream before the result is there.",
    object(),
    async (request) => {
      request.closeStream?.();
      await wait(100);
      return said("The stream was closed in between.");
    },
  ],
  test_missing_capability: [
    "Works only for clients that support sampling.",
    object(),
    (request) => {
      if (!request.capabilities.sampling) throw missingCapability("sampling");
      return said("The client supports sampling.");
    },
  ],
  test_streaming_elicitation: [
    "Asks the user after a first step.",
    object(),
    async (request) => {
      await inProgress(request);
      return askFor(whatName, reply("Elicitation completed"))(request);
    },
  ],
  test_custom_header: [
    "Takes a parameter that is repeated in a header.",
    object({ region: { type: "string", "x-mcp-header": "Region" } }),
    (request) => said(`The region is ${request.arguments.region}.`),
  ],
  test_trigger_tool_change: ["Changes the list of tools.", object(), (request) => request.change("tools")],
  test_trigger_prompt_change: ["Changes the list of prompts.", object(), (request) => request.change("prompts")],
  json_schema_2020_12_tool: ["Tool with JSON Schema 2020-12 features", schema2020, () => said("It is valid.")],
  test_input_required_result_elicitation: [
    "Requires a name.",
    object(),
    (request) => {
      const name = filledIn(request, "user_name", "name");
      return name === undefined ? ask({ user_name: whatName }) : said(`Hello, ${name}!`);
    },
  ],
  test_input_required_result_sampling: [
    "Requires an answer of the client's model.",
    object(),
    (request) => {
      const answer = request.inputResponses?.capital_question?.content?.text;
      const question = sample("What is the capital of France?", 100);
      return answer === undefined ? ask({ capital_question: question }) : said(answer);
    },
  ],
  test_input_required_result_list_roots: [
    "Requires the client's roots.",
    object(),
    (request) => {
      const folders = request.inputResponses?.client_roots?.roots;
      return folders === undefined ? ask({ client_roots: roots }) : said(folders.map(({ uri }) => uri).join("\n"));
    },
  ],
  test_input_required_result_request_state: ["Requires its state.", object(), withState],
  test_input_required_result_tampered_state: ["Requires its own state.", object(), withState],
  test_input_required_result_multiple_inputs: ["Requires several answers.", object(), severalQuestions],
  test_input_required_result_multi_round: ["Requires one answer after the other.", object(), inSteps],
  test_input_required_result_capabilities: ["Requires what the client supports.", object(), whatIsSupported],
};

const messages = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) });

// Name: description, names of its arguments, what it answers.
const PROMPTS = {
  test_simple_prompt: ["A text.", [], () => messages(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: [
    "A text with two arguments.",
    ["arg1", "arg2"],
    ({ arguments: { arg1, arg2 } }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ],
  test_prompt_with_embedded_resource: [
    "A resource.",
    ["resourceUri"],
    ({ arguments: { resourceUri } }) =>
      messages(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  ],
  test_prompt_with_image: ["An image.", [], () => messages(image, text("Please analyze the image above."))],
  test_input_required_result_prompt: [
    "A text that requires an answer of the user.",
    [],
    (request) => {
      const context = filledIn(request, "user_context", "context");
      const question = form("What context should the prompt use?", { context: words });
      return context === undefined ? ask({ user_context: question }) : messages(text(`The context is ${context}.`));
    },
  ],
};

// URI: MIME type, contents.
const RESOURCES = {
  "test://static-text": ["text/plain", { text: "This is the content of the static text resource." }],
  "test://static-binary": ["image/png", { blob: PNG }],
  "test://watched-resource": ["text/plain", { text: "This resource can be watched." }],
};
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

function read(uri) {
  const id = TEMPLATE.exec(uri)?.[1];
  const data = id && JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  const [mimeType, contents] = data ? ["application/json", { text: data }] : (RESOURCES[uri] ?? []);
  return contents && { contents: [{ uri, mimeType, ...contents }] };
}

// One more, which each change of its list adds or takes away.
const LATE_TOOL = { name: "test_late_tool", description: "Came later.", inputSchema: object() };
const LATE_PROMPT = { name: "test_late_prompt", description: "Came later." };
const isLate = { tools: false, prompts: false };

const unknown = (what, name) => new ProtocolError(-32602, `There is no ${what} "${name}".`);

// A request as the tools and prompts above know it.
function described({ params }, { mcpReq, http }, server) {
  const envelope = mcpReq.envelope;
  return {
    arguments: params.arguments ?? {},
    isModern: envelope !== undefined,
    capabilities: envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? server.getClientCapabilities() ?? {},
    inputResponses: mcpReq.inputResponses,
    state: mcpReq.requestState(),
    progressToken: mcpReq._meta?.progressToken,
    send: (request) => mcpReq.send(request),
    notify: (method, params) => mcpReq.notify({ method, params }),
    log: (level, data) => mcpReq.log(level, data),
    closeStream: http?.closeSSE,
    change: async (list) => {
      isLate[list] = !isLate[list];
      await announce(list);
      return said(`The list of ${list} has changed.`);
    },
  };
}

// The SDK compares headers with this schema before a call.
class SampleServer extends McpServer {
  toolInputSchemaJson(name) {
    return TOOLS[name]?.[1];
  }
}

function sampleServer() {
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  };
  const info = { name: "conformance-server", version: "1.0.0" };
  const sample = new SampleServer(info, { capabilities, requestState: { verify: state.verify } });
  const { server } = sample;
  const on = (method, handler) => server.setRequestHandler(method, handler);
  on("tools/list", () => {
    const tools = Object.entries(TOOLS).map(([name, [description, inputSchema]]) => ({
      name,
      description,
      inputSchema,
    }));
    return { tools: isLate.tools ? [...tools, LATE_TOOL] : tools };
  });
  on("tools/call", (request, context) => {
    const tool = TOOLS[request.params.name];
    if (!tool) throw unknown("tool", request.params.name);
    return tool[2](described(request, context, server));
  });
  on("prompts/list", () => {
    const prompts = Object.entries(PROMPTS).map(([name, [description, names]]) => ({
      name,
      description,
      arguments: names.map((argument) => ({ name: argument, description: "An argument.", required: true })),
    }));
    return { prompts: isLate.prompts ? [...prompts, LATE_PROMPT] : prompts };
  });
  on("prompts/get", (request, context) => {
    const prompt = PROMPTS[request.params.name];
    if (!prompt) throw unknown("prompt", request.params.name);
    return prompt[2](described(request, context, server));
  });
  on("resources/list", () => ({
    resources: Object.entries(RESOURCES).map(([uri, [mimeType]]) => ({
      uri,
      name: uri.slice("test://".length),
      description: "A resource of the suite.",
      mimeType,
    })),
  }));
  on("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: "test://template/{id}/data",
        name: "template",
        description: "A template of the suite.",
        mimeType: "application/json",
      },
    ],
  }));
  on("resources/read", ({ params: { uri } }, { mcpReq }) => {
    const result = read(uri);
    if (!result) throw new ProtocolError(mcpReq.envelope ? -32602 : -32002, "Resource not found", { uri });
    return result;
  });
  on("resources/subscribe", () => ({}));
  on("resources/unsubscribe", () => ({}));
  on("completion/complete", ({ params: { argument } }) => {
    const values = ["paris", "park", "party"].filter((value) => value.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return sample;
}

// Keeps the events of a session, so that a client can resume a stream.
class Events {
  #all = [];

  async storeEvent(streamId, message) {
    this.#all.push({ streamId, message });
    return String(this.#all.length - 1);
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.#all[Number(lastEventId)];
    for (const [id, event] of this.#all.entries()) {
      if (id > Number(lastEventId) && event.streamId === streamId) await send(String(id), event.message);
    }
    return streamId;
  }
}

const sessions = new Map();

async function inSession(request, response, body) {
  const known = request.headers["mcp-session-id"];
  const session = sessions.get(known);
  if (session) return session.transport.handleRequest(request, response, body);
  if (known !== undefined) return response.writeHead(404).end();
  const { server } = sampleServer();
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 100,
    onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await server.connect(transport);
  return transport.handleRequest(request, response, body);
}

const modern = createMcpHandler(sampleServer, { legacy: "reject" });

// Tells every client that a list has changed.
async function announce(list) {
  if (list === "tools") modern.notify.toolsChanged();
  else modern.notify.promptsChanged();
  const method = `notifications/${list}/list_changed`;
  await Promise.allSettled([...sessions.values()].map(({ server }) => server.notification({ method })));
}

const withoutSession = toNodeHandler(modern);
const hasValidHost = localhostHostValidation();
const hasValidOrigin = localhostOriginValidation();

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch {
    return undefined;
  }
}

const http = createServer(async (request, response) => {
  if (!hasValidHost(request, response) || !hasValidOrigin(request, response)) return;
  if (request.method !== "POST") return void (await inSession(request, response));
  const body = await bodyOf(request);
  const isLegacy = await isLegacyRequest(await toWebRequest(request, body), body);
  await (isLegacy ? inSession : withoutSession)(request, response, body);
});

http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` })}\n`);
});
