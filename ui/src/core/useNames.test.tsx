import { renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";

import { SpeechContext, translator, type Language } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { CoreProvider } from "./CoreProvider";
import { recordedClientName, useNames } from "./useNames";

const replies: Record<string, unknown> = { "servers.list": [], "clients.list": [{ id: "c1", name: "Claude Code" }] };
const platform = {
  command: (name: string) => Promise.resolve(replies[name]),
  events: () => () => undefined,
} as unknown as Platform;

it.each<[Language, Record<string, string>]>([
  ["en", { gatehouse: "Gatehouse", chat: "Chat", practice: "Practice", c1: "Claude Code", gone: "gone" }],
  ["zh-CN", { gatehouse: "Gatehouse", chat: "聊天", practice: "练习", c1: "Claude Code", gone: "gone" }],
])("names clients in %s, also those that are part of Gatehouse", async (language, expected) => {
  const wrapper = ({ children }: { children: ReactNode }) => (
    <SpeechContext value={{ language, messages: catalogues[language] }}>
      <CoreProvider platform={platform}>{children}</CoreProvider>
    </SpeechContext>
  );
  const { result } = renderHook(() => useNames(), { wrapper });
  await waitFor(() => {
    expect(Object.fromEntries(Object.keys(expected).map((id) => [id, result.current.client(id)]))).toEqual(expected);
  });
});

it("names the client of a record as it was called then, and Gatehouse's own in the reader's language", () => {
  const t = translator({ language: "zh-CN", messages: catalogues["zh-CN"] });
  expect(recordedClientName(t, { client: "chat", clientName: "Chat" })).toBe("聊天");
  expect(recordedClientName(t, { client: "c1", clientName: "Old name" })).toBe("Old name");
});
