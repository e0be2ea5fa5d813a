import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import { iconNames, isEmoji, isIconName, ServerIcon } from "../components/ServerIcon";
import { useMessages } from "../messages";

/** The choice that shows a field for an emoji. */
const EMOJI = "emoji";

type Props = {
  /** Empty for an automatic choice. */
  icon: string;
  onChange: (icon: string) => void;
};

/** The icon that a server is shown with: chosen by itself, one of ours, or an emoji. */
export function IconField({ icon, onChange }: Props) {
  const t = useMessages();
  const isAutomatic = icon === "" || icon === "auto";
  const [typing, setTyping] = useState(!isAutomatic && !isIconName(icon));
  const isOther = !isAutomatic && !isIconName(icon);
  const emoji = typing || isOther;
  return (
    <>
      <NativeSelect
        label={t("servers.form.icon")}
        data={[
          { value: "", label: t("servers.form.iconUsual") },
          { value: EMOJI, label: t("servers.form.iconEmoji") },
          ...iconNames.map((value) => ({ value, label: t(`servers.icon.${value}`) })),
        ]}
        leftSection={<ServerIcon name={icon} size={16} />}
        value={emoji ? EMOJI : isAutomatic ? "" : icon}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setTyping(value === EMOJI);
          onChange(value === EMOJI ? "" : value);
        }}
      />
      {emoji && (
        <TextInput
          label={t("servers.form.emoji")}
          description={t("servers.form.emojiHint")}
          value={icon}
          error={icon === "" || isEmoji(icon) ? null : t("servers.form.notEmoji")}
          onChange={(event) => {
            onChange(event.currentTarget.value.trim());
          }}
        />
      )}
    </>
  );
}
