import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { Markdown } from "./Markdown";

function show(text: string) {
  const opened: string[] = [];
  const platform = {
    events: () => () => undefined,
    openLink: (address: string) => {
      opened.push(address);
      return Promise.resolve();
    },
  } as unknown as Platform;
  const { container } = render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={platform}>
          <Markdown text={text} />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  return { container, opened };
}

describe("Markdown of a model", () => {
  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](#/settings)",
    "[x](/host/quit)",
    "[x](https:evil)",
    "x[^1]\n\n[^1]: note",
  ])("has no link for %s", (text) => {
    const { container } = show(text);
    expect(container.querySelector("a[href]")).toBeNull();
    expect(container.textContent).toContain("x");
  });

  it("opens a link in the browser when it is clicked, and leaves the page where it is", () => {
    const { opened } = show("[Docs](https://example.com/a?b=1)");
    const link = screen.getByRole("link", { name: "Docs" });
    expect(opened).toEqual([]);
    expect(fireEvent.click(link)).toBe(false);
    expect(opened).toEqual(["https://example.com/a?b=1"]);
    expect(link.getAttribute("title")).toBe("https://example.com/a?b=1");
  });

  it.each([
    "![secret](https://evil.example/x.png?leak=1)",
    "![](https://evil.example/x.png)",
    "![x](data:image/png;base64,AAAA)",
    "[![in a link](https://evil.example/x.png)](https://example.com)",
    '<img src="https://evil.example/x.png">',
  ])("never loads the image of %s", (text) => {
    const { container } = show(text);
    expect(container.querySelector("img, picture, source, svg image")).toBeNull();
  });

  it("shows markup as the text that it is", () => {
    const html = '<b onclick="alert(1)">bold</b><script>alert(1)</script><iframe src="https://evil.example"></iframe>';
    const { container } = show(`Text ${html}\n\n<style>*{display:none}</style>`);
    expect(container.querySelector("b, script, iframe, style:not([data-mantine-styles])")).toBeNull();
    expect(container.textContent).toContain('<b onclick="alert(1)">bold</b>');
    expect(container.textContent).toContain("<style>");
  });

  it("has code to copy, tables, and marks of tasks", () => {
    show("```ts\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] one\n- [ ] two");
    expect(screen.getByRole("button", { name: "Copy code" })).toBeTruthy();
    expect(screen.getByText("ts")).toBeTruthy();
    expect(screen.getByRole("table").querySelectorAll("td")).toHaveLength(2);
    expect(screen.getByRole("img", { name: "done" })).toBeTruthy();
    expect(screen.getByRole("img", { name: "not done" })).toBeTruthy();
  });

  it("has no heading of the levels of the page", () => {
    const { container } = show("# One\n\n## Two\n\n### Three");
    expect(container.querySelector("h1, h2")).toBeNull();
    expect(screen.getAllByRole("heading")).toHaveLength(3);
  });
});
