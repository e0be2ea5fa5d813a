import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { catalogues as ofPrompt } from "../../prompt/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { FormCard } from "./FormCard";

const server = { id: "srv-1", generation: 0, name: "booking", description: null, icon: "calendar" };

type Shown = { required?: string[]; awake?: boolean; messages?: typeof catalogues.en };

/** The card of a form, with its fields there. */
async function show(
  properties: Record<string, unknown>,
  { required = [], awake = true, messages = catalogues.en }: Shown = {},
) {
  const onAnswer = vi.fn();
  const schema = JSON.stringify({ type: "object", properties, required });
  const want = { mode: "form" as const, schema };
  const { container } = render(
    <SpeechContext value={{ language: "en", messages }}>
      <AnswerGuardContext value={awake}>
        <FormCard request={{ server, client: null, message: "Who?", want }} schema={schema} keys onAnswer={onAnswer} />
      </AnswerGuardContext>
    </SpeechContext>,
  );
  await waitFor(() => {
    expect(container.querySelector(".form")).not.toBeNull();
  });
  const send = () => {
    fireEvent.click(screen.getByRole("button", { name: "Send" }));
  };
  const contents = () => onAnswer.mock.calls.map(([answer]) => (answer as { content?: string }).content ?? null);
  return { container, onAnswer, send, contents };
}

const type = (label: string | RegExp, value: string) => {
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
};
const errors = () => screen.queryAllByRole("alert").map(({ textContent }) => textContent);

describe("the form of a server", () => {
  it("is checked before it is sent, focuses the first wrong field, and follows what is typed from then on", async () => {
    const { send, contents } = await show(
      {
        name: { type: "string", title: "Your name", minLength: 2 },
        email: { type: "string", title: "E-mail", format: "email" },
        note: { type: "string", title: "Note" },
      },
      { required: ["name", "email"] },
    );
    expect(errors()).toEqual([]);
    send();
    await waitFor(() => {
      expect(errors()).toEqual(["This field is required.", "This field is required."]);
    });
    expect(document.activeElement).toBe(screen.getByLabelText(/Your name/));
    type(/Your name/, "A");
    type(/E-mail/, "ana");
    await waitFor(() => {
      expect(errors()).toEqual(["At least 2 characters.", "Enter an email address."]);
    });
    type(/Your name/, "Ana");
    type(/E-mail/, "ana@example.org");
    await waitFor(() => {
      expect(errors()).toEqual([]);
    });
    send();
    await waitFor(() => {
      expect(contents()).toEqual(['{"name":"Ana","email":"ana@example.org"}']);
    });
  });

  it("sends its defaults, and what was chosen in the order of the options", async () => {
    const { send, contents } = await show({
      guests: { type: "integer", title: "Guests", default: 2 },
      seat: {
        type: "string",
        title: "Seat",
        oneOf: [
          { const: "w", title: "Window" },
          { const: "a", title: "Aisle" },
        ],
        default: "a",
      },
      extras: { type: "array", title: "Extras", items: { type: "string", enum: ["wifi", "meal"] } },
      news: { type: "boolean", title: "Send me news", description: "Once a month" },
    });
    expect(screen.getByRole("group", { name: "Extras" })).toBeDefined();
    expect(screen.getByText("Once a month")).toBeDefined();
    fireEvent.click(screen.getByLabelText("meal"));
    fireEvent.click(screen.getByLabelText("wifi"));
    send();
    await waitFor(() => {
      expect(contents()).toEqual(['{"guests":2,"seat":"a","extras":["wifi","meal"],"news":false}']);
    });
    fireEvent.click(screen.getByLabelText("meal"));
    fireEvent.click(screen.getByLabelText("wifi"));
    fireEvent.click(screen.getByLabelText("Send me news"));
    fireEvent.change(screen.getByLabelText("Seat"), { target: { value: "" } });
    type("Guests", "");
    send();
    await waitFor(() => {
      expect(contents()[1]).toBe('{"news":true}');
    });
  });

  it("keeps a default cleared", async () => {
    const { send, contents } = await show({
      a: { type: "string", title: "A", default: "x" },
      b: { type: "string", title: "B" },
    });
    type("A", "");
    type("B", "y");
    send();
    await waitFor(() => {
      expect(contents()).toEqual(['{"b":"y"}']);
    });
    expect(screen.getByLabelText<HTMLInputElement>("A").value).toBe("");
  });

  it("has a field for each kind of text", async () => {
    const { container } = await show({
      a: { type: "string" },
      b: { type: "string", maxLength: 4000 },
      c: { type: "string", format: "email" },
      d: { type: "string", format: "uri" },
      e: { type: "string", format: "date" },
      f: { type: "string", format: "date-time" },
      g: { type: "number" },
      h: { type: "integer" },
    });
    const kinds = [...container.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(".form-control")].map(
      ({ type: kind }) => kind,
    );
    expect(kinds).toEqual(["text", "textarea", "email", "url", "date", "datetime-local", "number", "number"]);
    const inputs = [...container.querySelectorAll("input")];
    expect(inputs.map(({ autocomplete }) => autocomplete)).toEqual(Array(7).fill("off"));
  });

  it("keeps a moment through the clock of this computer", async () => {
    const { send, contents } = await show({
      at: { type: "string", title: "At", format: "date-time", default: "2026-11-21T07:30:00Z" },
    });
    type("At", "2026-11-21T09:00:01");
    send();
    await waitFor(() => {
      expect(contents()).toEqual([JSON.stringify({ at: new Date("2026-11-21T09:00:01").toISOString() })]);
    });
  });

  it("sends no number that it cannot hold as it was typed", async () => {
    const { send, onAnswer } = await show({ n: { type: "integer", title: "N" } });
    type("N", "12345678901234567890");
    send();
    await waitFor(() => {
      expect(errors()).toEqual(["This number has too many digits to be sent exactly."]);
    });
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("marks what cannot be seen in its titles, descriptions and options", async () => {
    const { container } = await show({
      a: { type: "string", title: "Na\u202eme", description: "de\u200bscribed", pattern: "^\u200b$" },
      b: { type: "string", title: "B", enum: ["x"], enumNames: ["o\u202eption"] },
      c: { type: "array", title: "C", items: { enum: ["y"], enumNames: ["bo\u202ex"] } },
      d: { type: "boolean", title: "ye\u202es" },
    });
    expect(container.textContent).not.toMatch(/[\u202e\u200b]/);
    expect([...container.querySelectorAll("mark")].map(({ textContent }) => textContent)).toEqual([
      "U+202E",
      "U+200B",
      "U+200B",
      "U+202E",
      "U+202E",
    ]);
    expect(screen.getByRole("option", { name: "o⟦U+202E⟧ption" })).toBeDefined();
  });

  it("is answered by Ctrl+Enter, and not by Enter", async () => {
    const { contents, container } = await show({ a: { type: "string", title: "A", default: "x" } });
    expect(container.querySelector("form")).toBeNull();
    fireEvent.keyDown(screen.getByLabelText("A"), { key: "Enter" });
    expect(contents()).toEqual([]);
    fireEvent.keyDown(screen.getByLabelText("A"), { key: "Enter", ctrlKey: true });
    await waitFor(() => {
      expect(contents()).toEqual(['{"a":"x"}']);
    });
  });

  it("takes no answer while it sleeps", async () => {
    const { onAnswer, send } = await show({ a: { type: "string", title: "A" } }, { awake: false });
    send();
    fireEvent.keyDown(window, { key: "Enter", ctrlKey: true });
    await act(async () => {
      await Promise.resolve();
    });
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("tells the fields of two forms apart", async () => {
    const property = { a: { type: "string", title: "A" } };
    await show(property);
    await show(property);
    const ids = screen.getAllByLabelText("A").map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  it("without fields is an answer without content", async () => {
    const { container, send, contents } = await show({});
    expect(container.querySelector("[hidden]")).not.toBeNull();
    send();
    await waitFor(() => {
      expect(contents()).toEqual(["{}"]);
    });
  });

  it("cannot be shown where a server requires what no field gives", () => {
    const schema = JSON.stringify({ properties: { a: { type: "object" } }, required: ["a"] });
    render(
      <SpeechContext value={{ language: "en", messages: ofPrompt.en }}>
        <FormCard
          request={{ server, client: null, message: "", want: { mode: "form", schema } }}
          schema={schema}
          keys={false}
          onAnswer={vi.fn()}
        />
      </SpeechContext>,
    );
    expect(screen.getByText("Gatehouse can't show a form for this request.")).toBeDefined();
    expect(screen.queryByRole("button", { name: "Send" })).toBeNull();
  });
});
