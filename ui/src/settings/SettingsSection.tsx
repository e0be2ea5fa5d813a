import clsx from "clsx";
import { useId, type ReactNode } from "react";
import styles from "./SettingsSection.module.css";

/** One part of the settings. */
export function SettingsSection({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  const id = useId();
  return (
    <section className={clsx("card", styles.section)} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {text !== undefined && <p className="dim">{text}</p>}
      {children}
    </section>
  );
}
