// Which lines of a log are shown. Pure.

import type { LogLevel, LogLine, LogSource } from "../generated/types";

/** Least first. */
export const levels: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

export const sources: readonly LogSource[] = ["stderr", "server", "gatehouse"];

export type LogFilter = {
  words: string;
  /** All where null. */
  source: LogSource | null;
  /** The least level; lines that say none are shown only where null. */
  level: LogLevel | null;
};

export function filterLines(lines: readonly LogLine[], { words, source, level }: LogFilter): readonly LogLine[] {
  const wanted = words.trim().toLowerCase();
  const rank = level === null ? -1 : levels.indexOf(level);
  return lines.filter(
    (line) =>
      (source === null || line.source === source) &&
      (rank < 0 || (line.level !== null && levels.indexOf(line.level) >= rank)) &&
      line.text.toLowerCase().includes(wanted),
  );
}

/** A line to be copied: with its server, since lines of several servers may be pasted together. */
export const logText = (server: string, { at, source, level, text }: LogLine): string =>
  [new Date(at).toISOString(), server, source, level ?? "", text].join("\t");

/** Lines that say the same in a row: the last of them, and how many they are. */
export type LogGroup = { line: LogLine; count: number; since: number };

export function groupRepeats(lines: readonly LogLine[]): readonly LogGroup[] {
  const groups: LogGroup[] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.line.text === line.text && last.line.source === line.source && last.line.level === line.level) {
      groups[groups.length - 1] = { line, count: last.count + 1, since: last.since };
    } else groups.push({ line, count: 1, since: line.at });
  }
  return groups;
}

/** Lines so near to a moment are about it, in milliseconds. */
const AROUND_MS = 5000;

/** Whether a line is about the same moment. */
export const isAround = ({ at }: LogLine, time: number): boolean => Math.abs(at - time) <= AROUND_MS;

/** Index of the first group that ends at a moment or later; of the last one where all are older, -1 where there is none. */
export function firstFrom(groups: readonly LogGroup[], time: number): number {
  const first = groups.findIndex(({ line }) => line.at >= time - AROUND_MS);
  return first === -1 ? groups.length - 1 : first;
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
