// Which lines of a log are shown. Pure.

import type { LogLevel, LogLine, LogSource } from "../gen/types";

/** Least first. */
export const levels: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export const sources: readonly LogSource[] = ["stderr", "server", "gatehouse"];

export type LogFilter = {
  words: string;
  /** All where null. */
  source: LogSource | null;
  /** The least level; lines that say none are shown only where null. */
  level: LogLevel | null;
};

export function linesThat(lines: readonly LogLine[], { words, source, level }: LogFilter): readonly LogLine[] {
  const wanted = words.trim().toLowerCase();
  const rank = level === null ? -1 : levels.indexOf(level);
  return lines.filter(
    (line) =>
      (source === null || line.source === source) &&
      (rank < 0 || (line.level !== null && levels.indexOf(line.level) >= rank)) &&
      line.text.toLowerCase().includes(wanted),
  );
}

/** How a level is coloured; it is named as well. */
export function toneOfLevel(level: LogLevel): "off" | "plain" | "wait" | "bad" {
  switch (level) {
    case "debug":
      return "off";
    case "info":
    case "notice":
      return "plain";
    case "warning":
      return "wait";
    case "error":
    case "critical":
    case "alert":
    case "emergency":
      return "bad";
  }
}
