// A model whose answers a test writes, behind any API that a provider can have: starts and controls the program
// `scripted-provider`.

import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { ProviderApi } from "../../ui/src/generated/types.ts";
import { programs } from "./base.ts";

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

/** What a model was sent with OpenAI's chat completions, as far as tests look at it. */
export type ModelRequest = {
  messages: { role: string; content: unknown; tool_call_id?: string }[];
  tools?: { function: { name: string } }[];
};

/** A request that the provider got. */
export type ProviderRequest = { method: string; path: string; headers: Record<string, string>; body: unknown };

export class ScriptedModel {
  readonly #child: ChildProcess;
  readonly #origin: string;

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.#origin = origin;
  }

  static async start(): Promise<ScriptedModel> {
    const child = spawn(join(programs, "scripted-provider"), { stdio: ["pipe", "pipe", "inherit"] });
    const origin = await new Promise<string>((yes, no) => {
      createInterface({ input: child.stdout }).once("line", yes);
      child.once("error", no);
      child.once("exit", (code) => no(new Error(`the scripted provider ended with ${String(code)}`)));
    });
    return new ScriptedModel(child, origin);
  }

  /** The address that a provider with this API is added with. */
  baseUrl(api: ProviderApi = "open_ai_chat"): string {
    return api.startsWith("open_ai") ? `${this.#origin}/v1` : this.#origin;
  }

  /** Adds what the model answers next, in order. */
  async answers(...answers: Answer[]): Promise<void> {
    await this.#send("answers", answers.map(scripted));
  }

  /** Lets answers that are held go on. */
  async release(): Promise<void> {
    await this.#send("release", {});
  }

  /** Refuses every request without this key from now on. */
  async requireKey(key: string): Promise<void> {
    await this.#send("key", key);
  }

  /** Lists these models from now on, in place of `small` and `large`. */
  async lists(...models: string[]): Promise<void> {
    await this.#send("models", models);
  }

  /** Everything that the provider was sent, also requests for its list of models. */
  async received(): Promise<ProviderRequest[]> {
    return (await this.#send("received")) as ProviderRequest[];
  }

  /** What models were asked. */
  async requests(): Promise<ModelRequest[]> {
    const bodies = (await this.received()).map(({ body }) => body as ModelRequest | null);
    return bodies.filter((body) => body !== null);
  }

  /** What a model was asked last. */
  async lastRequest(): Promise<ModelRequest | undefined> {
    return (await this.requests()).at(-1);
  }

  /** Ends the provider. */
  async close(): Promise<void> {
    const ended = new Promise((done) => this.#child.once("exit", done));
    this.#child.stdin?.end();
    await ended;
  }

  async #send(what: string, body?: unknown): Promise<unknown> {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${this.#origin}/script/${what}`, request);
    return response.json();
  }
}

/** An answer as the program reads it. */
function scripted(answer: Answer): unknown {
  return "status" in answer ? { status: answer } : { steps: answer.map(step) };
}

function step(part: Part): unknown {
  if ("hold" in part) return "hold";
  if (!("call" in part)) return part;
  return { call: { tool: part.call, arguments: part.written ?? JSON.stringify(part.args ?? {}) } };
}
