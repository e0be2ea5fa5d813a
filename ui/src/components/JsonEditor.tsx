import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import clsx from "clsx";
import { useEffect, useRef } from "react";

import { useMessages } from "../messages";
import type { Span } from "./jsonSpans";
import styles from "./JsonEditor.module.css";

type EditorFault = Span & { message: string };

type Props = {
  label: string;
  /** What was reported last, or what is to be put in its place when `round` changes. */
  text: string;
  /** Another one whenever the text does not come from the editor: it alone knows what is typed meanwhile. */
  round: number;
  faults: readonly EditorFault[];
  /** Whether it takes the height that there is. */
  fill?: boolean;
  onChange: (text: string) => void;
};

/**
 * An editor for JSON. It lives in a shadow tree: there its styles are sheets that it adopts, where in the
 * document they would be a style element, which the content security policy refuses.
 */
export default function JsonEditor({ label, text, round, faults, fill = false, onChange }: Props) {
  const t = useMessages();
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const heard = useRef(onChange);
  const first = useRef({ text, label });
  const now = useRef(text);
  useEffect(() => {
    heard.current = onChange;
    now.current = text;
  });

  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first.current.text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          json(),
          lintGutter(),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          typedOver,
          keymap.of([...defaultKeymap, ...historyKeymap]),
          labelled.of(EditorView.contentAttributes.of({ "aria-label": first.current.label })),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) heard.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: labelled.reconfigure(EditorView.contentAttributes.of({ "aria-label": label })) });
  }, [label]);
  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== now.current) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: now.current } });
    }
  }, [round]);
  useEffect(() => {
    const editor = view.current;
    // Of a text that is not there any more: the next reading says where its faults are.
    if (editor?.state.doc.toString() !== text) return;
    const end = editor.state.doc.length;
    const marks = faults.map(({ from, to, message }) => ({
      from: Math.min(from, end),
      to: Math.min(to, end),
      message,
      severity: "error" as const,
    }));
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [faults, text, round]);

  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  return (
    <div className={clsx(styles.json, fill && styles.fill)}>
      <div ref={place} className={styles.editor} data-testid="json-editor" />
      <ul className={styles.errors} aria-live="polite">
        {faults.map(({ from, message }, at) => (
          <li key={at}>
            <button
              type="button"
              onClick={() => {
                view.current?.dispatch({ selection: { anchor: Math.min(from, text.length) }, scrollIntoView: true });
                view.current?.focus();
              }}
            >
              {t("json.line", { line: lineOf(from), fault: message })}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

const labelled = new Compartment();

/**
 * Where coloured text is typed over, Chromium would keep its colour as a style attribute on what it
 * inserts, and the content security policy refuses that: so the text goes in without the browser.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.data === null || event.isComposing) return false;
    if (view.state.selection.ranges.every(({ empty }) => empty)) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--mantine-color-teal-text)" },
  { tag: tags.string, color: "var(--mantine-color-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--gh-wait)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--mantine-color-dimmed)" },
]);

const look = EditorView.theme({
  "&": {
    height: "100%",
    backgroundColor: "var(--gh-sunken)",
    color: "var(--mantine-color-text)",
    fontSize: "var(--mantine-font-size-sm)",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--mantine-color-text)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
  ".cm-gutters": { backgroundColor: "var(--gh-sunken)", color: "var(--mantine-color-dimmed)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--mantine-color-teal-light-hover)",
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--mantine-color-teal-light)",
    outline: "1px solid var(--gh-line)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--gh-line)",
    borderRadius: "0.375rem",
    backgroundColor: "var(--gh-card)",
    color: "var(--mantine-color-text)",
    fontFamily: "var(--mantine-font-family)",
  },
});
