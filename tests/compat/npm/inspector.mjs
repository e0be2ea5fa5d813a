// The Inspector's command line: each list and each call is a run of it. See tests/js/lines.mjs.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { run } from "../../js/lines.mjs";

const launcher = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);
let target;

const variables = (environment) => Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`]);

function inspect(words, timeout) {
  return new Promise((resolve, reject) => {
    const args = [launcher, "--cli", ...target.before, ...words, ...target.after];
    const options = { timeout, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      try {
        // A tool that says that it failed is an exit code and a result.
        resolve(JSON.parse(stdout));
      } catch {
        reject(error?.killed ? new Error("it was stopped") : new Error(stderr || stdout));
      }
    });
  });
}

await run({
  connect: async ({ url, token, command }) => {
    target = command
      ? { before: variables(command.environment), after: ["--", command.program, ...command.arguments] }
      : { before: [url, "--transport", "http", "--header", `Authorization: Bearer ${token}`], after: [] };
    return {};
  },
  list: () => inspect(["--method", "tools/list"], 60_000),
  call: ({ name, arguments: args, timeoutMs }) => {
    const pairs = Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    const words = ["--method", "tools/call", "--tool-name", name, ...pairs.flatMap((it) => ["--tool-arg", it])];
    return inspect(words, timeoutMs ?? 60_000);
  },
  close: async () => ({}),
});
