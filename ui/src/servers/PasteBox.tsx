import { Textarea } from "@mantine/core";
import clsx from "clsx";
import { useState } from "react";

import { useMessages } from "../messages";
import { needsChecklist, recognise, type RecognisedPaste } from "./pastedText";
import styles from "./PasteBox.module.css";

/** `namedBefore` is the name that the last pasted text gave. */
type Props = {
  onFound: (recognised: RecognisedPaste, namedBefore: string) => void;
  /** Takes settings that the form alone can't take over. */
  onSettings: (text: string) => void;
};

/** Takes what is pasted apart. What holds secrets does not stay in sight. */
export function PasteBox({ onFound, onSettings }: Props) {
  const t = useMessages();
  const [text, setText] = useState("");
  const [last, setLast] = useState<RecognisedPaste | null>(null);
  const take = (pasted: string) => {
    if (needsChecklist(pasted)) {
      setText("");
      setLast(null);
      onSettings(pasted);
      return;
    }
    const recognised = recognise(pasted);
    const hasSecret = recognised?.found.lines.some((line) => line.secret) ?? false;
    setText(hasSecret ? "" : pasted);
    setLast(recognised);
    if (recognised) onFound(recognised, last?.found.name ?? "");
  };
  const said = () => {
    if (!last) return text.trim() === "" ? null : t("servers.form.notKnown");
    return t("servers.form.filled");
  };
  return (
    <div>
      <Textarea
        label={t("servers.form.paste")}
        placeholder={t("servers.form.pasteHint")}
        autosize={false}
        rows={2}
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={(event) => {
          take(event.currentTarget.value);
        }}
      />
      <p role="status" className={clsx("dim", styles.found)}>
        {said()}
      </p>
    </div>
  );
}
