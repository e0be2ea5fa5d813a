import { Kbd } from "@mantine/core";

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
                <dd>
                  <ShortcutKeys shortcut={shortcut} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </>
  );
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
