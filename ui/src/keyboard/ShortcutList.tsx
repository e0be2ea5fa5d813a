import { Kbd } from "@mantine/core";
import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useMessages } from "../messages";
import { keyNames, shortcutGroups, type Shortcut } from "./shortcuts";
import styles from "./ShortcutList.module.css";

/** Every shortcut with its keys, by where it works. */
export function ShortcutList() {
  const t = useMessages();
  return (
    <>
      {shortcutGroups.map(({ name, shortcuts }) => (
        <section key={name} aria-label={t(`shortcut.group.${name}`)}>
          <h3 className={styles.heading}>{t(`shortcut.group.${name}`)}</h3>
          <dl className={styles.list}>
            {shortcuts.map((shortcut) => (
              <div key={shortcut} className={styles.row}>
                <dt>{t(`shortcut.${shortcut}`)}</dt>
                <dd>{shortcut === "pause" ? <PauseKeys /> : <ShortcutKeys shortcut={shortcut} />}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </>
  );
}

/** The keys that pause everything; that there are none, where the desktop has no shortcuts for all applications. */
function PauseKeys() {
  const t = useMessages();
  const { platform } = useCore();
  const [has, setHas] = useState<boolean | null>(null);
  useEffect(() => {
    // They are registered shortly after the start. Until it is known, they are shown as if they were.
    platform.hasPauseShortcut().then(setHas, () => undefined);
  }, [platform]);
  return has === false ? t("shortcut.unavailable") : <ShortcutKeys shortcut="pause" />;
}

/** The keys of a shortcut; of several ways, each. */
export function ShortcutKeys({ shortcut }: { shortcut: Shortcut }) {
  return keyNames(shortcut).map((keys) => (
    <span key={keys.join("+")} className={styles.keys}>
      {keys.map((key) => (
        <Kbd key={key}>{key}</Kbd>
      ))}
    </span>
  ));
}
