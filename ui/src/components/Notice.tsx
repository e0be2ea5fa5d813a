import type { ReactNode } from "react";

type Props = { icon: ReactNode; text: string; children?: ReactNode };

/** A strip across the top of every page, with actions on its right. */
export function Notice({ icon, text, children }: Props) {
  return (
    <div className="frame-notice" role="status">
      {icon}
      <span className="frame-notice-text">{text}</span>
      {children}
    </div>
  );
}
