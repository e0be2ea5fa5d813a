import { NativeSelect } from "@mantine/core";
import { useId, useState } from "react";

import { useAction } from "../core/useAction";
import type { LogLevel } from "../generated/types";
import { useMessages } from "../messages";
import { levels } from "./logs";
import styles from "./ServerLogLevel.module.css";

/** From which level on the server logs. A server does not tell where it stands. */
export function ServerLogLevel({ server }: { server: string }) {
  const t = useMessages();
  const set = useAction("servers.setLogLevel");
  const [asked, setAsked] = useState<LogLevel | null>(null);
  const id = useId();
  return (
    <span className={styles.level}>
      <label htmlFor={id} className="dim">
        {t("servers.log.from")}
      </label>
      <NativeSelect
        id={id}
        size="sm"
        disabled={set.busy}
        data={[
          ...(asked === null ? [{ value: "", label: t("servers.log.fromItself") }] : []),
          ...levels.map((one) => ({ value: one, label: t(`servers.log.level.${one}`) })),
        ]}
        value={asked ?? ""}
        onChange={(event) => {
          const { value } = event.currentTarget;
          const level = levels.find((one) => one === value);
          if (level) {
            void set.run({ server, level }).then((done) => {
              if (done) setAsked(level);
            });
          }
        }}
      />
    </span>
  );
}
