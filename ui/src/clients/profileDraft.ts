// What a profile shows of servers and tools, and how ticks change it. Nothing here is sent.

import type { ProfileSettings, ToolSelection } from "../generated/types";

export const newProfile: ProfileSettings = {
  name: "",
  servers: [],
  otherServers: "shown",
  deniedTools: "listed",
  naming: null,
  toolList: "full",
  callsPerMinute: null,
  folders: [],
};

/** The profile as it is saved: empty lines between folders are only typed. */
export function toSave(draft: ProfileSettings): ProfileSettings {
  return { ...draft, folders: draft.folders.map((folder) => folder.trim()).filter((folder) => folder !== "") };
}

/** What the profile shows of a server, named in it or not. */
export function selectionOf({ servers, otherServers }: ProfileSettings, server: string): ToolSelection {
  const named = servers.find((shown) => shown.server === server);
  return named?.tools ?? (otherServers === "shown" ? { shows: "all" } : { shows: "nothing" });
}

/** The profile with another selection for a server. */
export function withSelection(settings: ProfileSettings, server: string, tools: ToolSelection): ProfileSettings {
  const others = settings.servers.filter((shown) => shown.server !== server);
  return { ...settings, servers: [...others, { server, tools }] };
}

export function isToolShown(selection: ToolSelection, tool: string): boolean {
  switch (selection.shows) {
    case "all":
      return true;
    case "only":
      return selection.tools.includes(tool);
    case "except":
      return !selection.tools.includes(tool);
    case "nothing":
      return false;
  }
}

/** Whether tools that the server adds later are shown. */
export const showsLaterTools = ({ shows }: ToolSelection) => shows === "all" || shows === "except";

/** The selection with one tool shown or hidden; what becomes of later tools stays as it is. */
export function withTool(selection: ToolSelection, tool: string, shown: boolean): ToolSelection {
  const add = (tools: readonly string[]) => [...tools.filter((other) => other !== tool), tool];
  const remove = (tools: readonly string[]) => tools.filter((other) => other !== tool);
  switch (selection.shows) {
    case "all":
      return shown ? selection : { shows: "except", tools: [tool] };
    case "nothing":
      return shown ? { shows: "only", tools: [tool] } : selection;
    case "only":
      return { shows: "only", tools: shown ? add(selection.tools) : remove(selection.tools) };
    case "except": {
      const tools = shown ? remove(selection.tools) : add(selection.tools);
      return tools.length === 0 ? { shows: "all" } : { shows: "except", tools };
    }
  }
}

/** The selection with the same of the present tools, and later ones shown or hidden. */
export function withLaterTools(selection: ToolSelection, present: readonly string[], shown: boolean): ToolSelection {
  if (showsLaterTools(selection) === shown) return selection;
  if (!shown) return { shows: "only", tools: present.filter((tool) => isToolShown(selection, tool)) };
  const hidden = present.filter((tool) => !isToolShown(selection, tool));
  return hidden.length === 0 ? { shows: "all" } : { shows: "except", tools: hidden };
}
