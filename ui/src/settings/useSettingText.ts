import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";

type SettingText = {
  text: string;
  setText: (text: string) => void;
  /** Says that the text was saved, and reads what it became. */
  finishSaving: () => Promise<void>;
};

/** A setting that is edited as text, from what is saved of it. */
export function useSettingText(saved: string): SettingText {
  const t = useMessages();
  const { refetch } = useCoreQuery("settings.show", {});
  const [edited, setEdited] = useState<string | null>(null);
  const text = edited ?? saved;
  const finishSaving = async () => {
    notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
    await refetch();
    // What was typed meanwhile stays.
    setEdited((now) => (now === text ? null : now));
  };
  return { text, setText: setEdited, finishSaving };
}
