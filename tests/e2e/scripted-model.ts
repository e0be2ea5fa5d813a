// A model whose answers a test writes: a provider with OpenAI's chat completions, streamed as OpenAI documents it.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A part of an answer. */
export type Part =
  | { text: string }
  | { reasoning: string }
  /** A call; `written` stands in the arguments as it is, also where it is no JSON. */
  | { call: string; args?: unknown; written?: string }
  /** What comes after it waits until the test releases it. */
  | { hold: true };

/** An answer of the model: its parts, or an error of the provider. */
export type Answer = readonly Part[] | { status: number; message: string };

/** What the provider was sent, as far as tests look at it. */
export type ModelRequest = {
  messages: { role: string; content: unknown; tool_call_id?: string }[];
  tools?: { function: { name: string } }[];
};

export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  readonly #answers: Answer[] = [];
  readonly #held: (() => void)[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    await new Promise<void>((done) => model.#server.listen(0, "127.0.0.1", done));
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/v1`;
  }

  /** Adds what the model answers next, in order. */
  answers(...answers: Answer[]): void {
    this.#answers.push(...answers);
  }

  /** Lets answers that are held go on. */
  release(): void {
    for (const goOn of this.#held.splice(0)) goOn();
  }

  close(): void {
    this.release();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      const data = ["small", "large"].map((id) => ({ id, object: "model", created: 0, owned_by: "test" }));
      response.end(JSON.stringify({ object: "list", data }));
      return;
    }
    let body = "";
    for await (const chunk of request) body += String(chunk);
    this.requests.push(JSON.parse(body) as ModelRequest);
    const answer = this.#answers.shift() ?? [{ text: "There is nothing more in the script." }];
    if ("status" in answer) {
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: answer.message, type: "invalid_request_error", code: null } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    await this.#stream(response, answer);
  }

  async #stream(response: ServerResponse, parts: readonly Part[]): Promise<void> {
    const id = `chatcmpl-${String(this.requests.length)}`;
    const send = (delta: unknown, finish: string | null = null) => {
      const choices = [{ index: 0, delta, finish_reason: finish }];
      const chunk = { id, object: "chat.completion.chunk", created: 0, model: "small", choices };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    send({ role: "assistant", content: "" });
    let index = 0;
    for (const part of parts) {
      if ("hold" in part) await new Promise<void>((goOn) => this.#held.push(goOn));
      else if ("text" in part) for (const text of pieces(part.text)) send({ content: text });
      else if ("reasoning" in part) for (const text of pieces(part.reasoning)) send({ reasoning_content: text });
      else {
        const made = { name: part.call, arguments: "" };
        send({ tool_calls: [{ index, id: `${id}-${String(index)}`, type: "function", function: made }] });
        for (const written of pieces(part.written ?? JSON.stringify(part.args ?? {})))
          send({ tool_calls: [{ index, function: { arguments: written } }] });
        index += 1;
      }
    }
    send({}, index > 0 ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 };
    response.write(`data: ${JSON.stringify({ id, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  }
}

/** A text as it comes: a few characters at a time. */
function pieces(text: string): string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}
