import {
  Button,
  Checkbox,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import clsx from "clsx";
import { useId, useState } from "react";

import { Collapse } from "../components/Collapse";
import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { usePageState } from "../core/pageState";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Profile, ProfileSettings, ToolSelection, ToolNaming, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import {
  isToolShown,
  newProfile,
  selectionOf,
  showsLaterTools,
  toSave,
  withLaterTools,
  withSelection,
  withTool,
} from "./profileDraft";
import styles from "./Profiles.module.css";

/** Longest limit, as in the core. */
const mostCalls = 10_000;
const namings: readonly ToolNaming[] = ["onConflict", "server", "mcpServer"];

type Props = {
  /** Name under which what is entered is kept. */
  formName: string;
  profile: Profile | null;
  onDone: () => void;
};

/** The form of a profile, or of a new one. */
export function ProfileEditor({ formName, profile, onDone }: Props) {
  const t = useMessages();
  const toolListLabel = useId();
  const [draft, setDraft] = usePageState(formName, profile?.settings ?? newProfile);
  const [error, setError] = useState<UserError | null>(null);
  const add = useAction("profiles.add");
  const set = useAction("profiles.set");
  const change = (part: Partial<ProfileSettings>) => {
    setDraft({ ...draft, ...part });
    setError(null);
  };
  const save = () => {
    const settings = toSave(draft);
    const saved = profile === null ? add.request({ settings }) : set.request({ profile: profile.id, settings });
    saved.then(onDone, (thrown: unknown) => {
      setError(toUserError(thrown));
    });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap="md">
        <TextInput
          label={t("profiles.name")}
          data-autofocus
          required
          value={draft.name}
          onChange={(event) => {
            change({ name: event.currentTarget.value });
          }}
        />
        <ServerList draft={draft} onDraft={change} />
        <Switch
          label={t("profiles.strict")}
          description={t("profiles.strictText")}
          checked={draft.otherServers === "hidden"}
          onChange={(event) => {
            change({ otherServers: event.currentTarget.checked ? "hidden" : "shown" });
          }}
        />
        <Switch
          label={t("profiles.hideDenied")}
          description={t("profiles.hideDeniedText")}
          checked={draft.deniedTools === "hidden"}
          onChange={(event) => {
            change({ deniedTools: event.currentTarget.checked ? "hidden" : "listed" });
          }}
        />
        <div>
          <span id={toolListLabel} className={styles.label}>
            {t("profiles.toolList")}
          </span>
          <SegmentedControl
            fullWidth
            aria-labelledby={toolListLabel}
            value={draft.toolList}
            data={[
              { value: "full", label: t("profiles.toolList.full") },
              { value: "search", label: t("profiles.toolList.search") },
            ]}
            onChange={(toolList) => {
              change({ toolList: toolList === "search" ? "search" : "full" });
            }}
          />
          <p className={styles.hint}>
            {t(draft.toolList === "search" ? "profiles.toolList.searchText" : "profiles.toolList.fullText")}
          </p>
        </div>
        <Select
          label={t("profiles.naming")}
          clearable
          placeholder={t("profiles.naming.default")}
          data={namings.map((value) => ({ value, label: t(`profiles.naming.${value}`) }))}
          value={draft.naming}
          onChange={(value) => {
            change({ naming: namings.find((naming) => naming === value) ?? null });
          }}
        />
        <NumberInput
          label={t("profiles.rate")}
          description={t("profiles.rateText")}
          placeholder={t("profiles.rate.none")}
          min={1}
          max={mostCalls}
          allowDecimal={false}
          value={draft.callsPerMinute ?? ""}
          onChange={(limit) => {
            change({ callsPerMinute: typeof limit === "number" ? limit : null });
          }}
        />
        <Textarea
          label={t("profiles.folders")}
          description={t(draft.otherServers === "hidden" ? "profiles.foldersStrictText" : "profiles.foldersText")}
          placeholder={t("profiles.folders.none")}
          rows={2}
          value={draft.folders.join("\n")}
          onChange={(event) => {
            change({ folders: event.currentTarget.value === "" ? [] : event.currentTarget.value.split("\n") });
          }}
        />
        {error && <ErrorAlert error={error} />}
        <DialogFoot>
          <Button variant="default" onClick={onDone}>
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" loading={add.busy || set.busy} disabled={draft.name.trim() === ""}>
            {t("profiles.save")}
          </Button>
        </DialogFoot>
      </Stack>
    </form>
  );
}

type ListProps = { draft: ProfileSettings; onDraft: (part: Partial<ProfileSettings>) => void };

/** All servers with a tick each, and their tools. */
function ServerList({ draft, onDraft }: ListProps) {
  const t = useMessages();
  const servers = useCoreQuery("servers.list", {});
  const tools = useCoreQuery("tools.list", { server: null });
  return (
    <fieldset className={styles.servers}>
      <legend className={styles.label}>{t("profiles.servers")}</legend>
      {servers.loading && <LoadingIndicator />}
      {servers.data?.map(({ config: { id, name } }) => (
        <ServerTicks
          key={id}
          name={name}
          tools={(tools.data ?? []).filter((tool) => tool.server === id).map((tool) => tool.name)}
          selection={selectionOf(draft, id)}
          onSelection={(selection) => {
            onDraft({ servers: withSelection(draft, id, selection).servers });
          }}
        />
      ))}
    </fieldset>
  );
}

type TicksProps = {
  name: string;
  /** Names on the server, as far as they are known. */
  tools: readonly string[];
  selection: ToolSelection;
  onSelection: (selection: ToolSelection) => void;
};

function ServerTicks({ name, tools, selection, onSelection }: TicksProps) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const shown = tools.filter((tool) => isToolShown(selection, tool)).length;
  const isPart = selection.shows === "only" || selection.shows === "except";
  return (
    <div>
      <Checkbox
        className={styles.tick}
        label={name}
        checked={selection.shows === "all"}
        indeterminate={isPart}
        onChange={() => {
          onSelection(selection.shows === "all" ? { shows: "nothing" } : { shows: "all" });
        }}
      />
      {tools.length > 0 && (
        <Collapse
          label={t("profiles.tools", { shown, count: tools.length, server: name })}
          opened={opened}
          onOpened={setOpened}
        >
          <div className={styles.tools}>
            {tools.map((tool) => (
              <Checkbox
                key={tool}
                size="xs"
                className={styles.tick}
                label={tool}
                checked={isToolShown(selection, tool)}
                onChange={(event) => {
                  onSelection(withTool(selection, tool, event.currentTarget.checked));
                }}
              />
            ))}
            <Checkbox
              size="xs"
              className={clsx(styles.tick, styles.later)}
              label={t("profiles.laterTools")}
              checked={showsLaterTools(selection)}
              onChange={(event) => {
                onSelection(withLaterTools(selection, tools, event.currentTarget.checked));
              }}
            />
          </div>
        </Collapse>
      )}
    </div>
  );
}
