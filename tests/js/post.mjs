// Another program that has a client's token: posts what it reads from one line on stdin,
// {"url":…,"headers":{…},"body":…}, and says {"status":…,"body":…} or {"error":…} on stdout.
// See tests/src/http.rs for the other end.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { url, headers, body } = JSON.parse(line);
  try {
    const answer = await fetch(url, { method: "POST", headers, body });
    console.log(JSON.stringify({ status: answer.status, body: await answer.text() }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
