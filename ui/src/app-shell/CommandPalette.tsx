import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import {
  IconDoor,
  IconKeyboard,
  IconLogin2,
  IconMessagePlus,
  IconPlayerPause,
  IconPlayerPlay,
  IconSearch,
  IconServer2,
  IconShieldQuestion,
} from "@tabler/icons-react";

import { useCore } from "../core/CoreProvider";
import { showError, useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import { ShortcutKeys } from "../keyboard/ShortcutList";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { wantsSignIn } from "../servers/status";
import { pages } from "./pages";
import { commandPaletteStore } from "./paletteStore";
import { navigate } from "../navigation/route";

/** The command palette: every page, every server, and what is done often. */
export function CommandPalette({ paused, onShortcuts }: { paused: boolean; onShortcuts: () => void }) {
  const t = useMessages();
  const { platform } = useCore();
  const pause = useAction("pause");
  const resume = useAction("resume");
  const signIn = useAction("servers.signIn");
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const actions: SpotlightActionData[] = [
    ...pages.map(({ name, icon: Icon, route }) => ({
      id: name,
      label: t("appShell.goTo", { page: t(name) }),
      leftSection: <Icon size={18} aria-hidden />,
      onClick: () => {
        navigate(route);
      },
    })),
    {
      id: "prompt",
      label: t("appShell.showPrompt"),
      leftSection: <IconShieldQuestion size={18} aria-hidden />,
      onClick: () => {
        platform.showPrompt().catch((thrown: unknown) => {
          showError(toUserError(thrown));
        });
      },
    },
    {
      id: "new-conversation",
      label: t("chat.new"),
      leftSection: <IconMessagePlus size={18} aria-hidden />,
      rightSection: <ShortcutKeys shortcut="newConversation" />,
      onClick: () => {
        navigate({ page: "chat" });
      },
    },
    paused
      ? {
          id: "resume",
          label: t("appShell.resume"),
          leftSection: <IconPlayerPlay size={18} aria-hidden />,
          onClick: () => void resume.run({}),
        }
      : {
          id: "pause",
          label: t("appShell.pause"),
          leftSection: <IconPlayerPause size={18} aria-hidden />,
          onClick: () => void pause.run({}),
        },
    {
      id: "first-steps",
      label: t("firstRun.again"),
      leftSection: <IconDoor size={18} aria-hidden />,
      onClick: () => {
        navigate({ page: "welcome" });
      },
    },
    {
      id: "shortcuts",
      label: t("shortcut.help"),
      leftSection: <IconKeyboard size={18} aria-hidden />,
      rightSection: <ShortcutKeys shortcut="help" />,
      onClick: onShortcuts,
    },
    ...servers.filter(wantsSignIn).map(({ config }) => ({
      id: `${config.id} sign-in`,
      label: t("appShell.signIn", { name: config.name }),
      leftSection: <IconLogin2 size={18} aria-hidden />,
      onClick: () => {
        // What comes of it stands there.
        navigate({ page: "server", id: config.id, tab: "tools" });
        void signIn.run({ server: config.id, open: true });
      },
    })),
    ...servers.map(({ config }) => ({
      id: config.id,
      label: t("appShell.openServer", { name: config.name }),
      leftSection: <IconServer2 size={18} aria-hidden />,
      onClick: () => {
        navigate({ page: "server", id: config.id, tab: "tools" });
      },
    })),
  ];
  return (
    <Spotlight
      store={commandPaletteStore}
      actions={actions}
      shortcut={null}
      nothingFound={t("appShell.nothingFound")}
      limit={100}
      scrollable
      maxHeight="60vh"
      lockScroll={false}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: t("appShell.search"),
        "aria-label": t("appShell.search"),
      }}
    />
  );
}
