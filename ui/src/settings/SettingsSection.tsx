import { useId, type ReactNode } from "react";

/** One part of the settings. */
export function SettingsSection({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  const id = useId();
  return (
    <section className="card settings-section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {text !== undefined && <p className="dim">{text}</p>}
      {children}
    </section>
  );
}
