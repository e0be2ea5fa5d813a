// The line protocol of the test clients: reads one JSON command a line on stdin and answers each with one JSON line on
// stdout. The words are those of client.mjs.
import { createInterface } from "node:readline";

export const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const failure = (error) => ({ error: { code: error?.code ?? null, message: String(error?.message ?? error) } });

// Carries out the commands. Calls run side by side, everything else one after the other.
export async function run(ops) {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    const name = command.op === "call" ? command.id : command.op;
    const answer = ops[command.op](command).then(
      (result) => say({ id: name, result }),
      (error) => say({ id: name, ...failure(error) }),
    );
    if (command.op !== "call") await answer;
    if (command.op === "close") process.exit(0);
  }
}
