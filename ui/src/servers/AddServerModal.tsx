import { Alert, Button, Group, Modal, Stack, Tabs } from "@mantine/core";
import { Suspense, useState, type ReactNode } from "react";

import { useMessages, type MessageKey } from "../messages";
import { lazyWithPrefetch } from "../components/lazyWithPrefetch";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useCoreQuery } from "../core/useCoreQuery";
import type { WantedBundle } from "../bundles/BundlePanel";
import type { ImportOrigin } from "../generated/types";
import type { ServerOffer } from "../navigation/serverOffer";
import type { WantedEntry } from "../registry/registryForm";
import type { FilledServer } from "./serverForm";
import styles from "./AddServerModal.module.css";

/** The form within the dialog. */
export const AddServerForm = lazyWithPrefetch(async () => (await import("./AddServerForm")).AddServerForm);
const ImportPanel = lazyWithPrefetch(async () => (await import("../imports/ImportPanel")).ImportPanel);
const RegistryPanel = lazyWithPrefetch(async () => (await import("../registry/RegistryPanel")).RegistryPanel);
const BundlePanel = lazyWithPrefetch(async () => (await import("../bundles/BundlePanel")).BundlePanel);

/** What each way to add a server gets. */
type PanelProps = {
  onClose: () => void;
  /** Takes settings over into the form and shows it; nothing is added. */
  onFill: (filled: FilledServer) => void;
  /** The settings that were taken over last. */
  filled: FilledServer | null;
  /** Shows the servers of a settings file or a text, from which some are picked. */
  onImport: (from: ImportOrigin) => void;
  /** What is imported from; the user picks where it is `null`. */
  importFrom: ImportOrigin | null;
  /** The entry of the registry that is wanted. */
  entry: WantedEntry | null;
  /** The bundle that is wanted. */
  bundle: WantedBundle | null;
  /** Lets the user choose the file of a bundle, which must have this hash. */
  onBundle: (sha256: string | null) => void;
};

/** One way to add a server. */
type AddServerTab = { id: string; label: MessageKey; panel: (props: PanelProps) => ReactNode };

const tabs: readonly AddServerTab[] = [
  {
    id: "form",
    label: "servers.form.tab",
    panel: ({ onClose, filled, onImport }) => <AddServerForm onClose={onClose} filled={filled} onImport={onImport} />,
  },
  {
    id: "import",
    label: "imports.tab",
    panel: ({ onClose, importFrom }) => <ImportPanel from={importFrom} onClose={onClose} />,
  },
  {
    id: "registry",
    label: "registry.tab",
    panel: ({ onFill, onBundle, entry }) => <RegistryPanel onFill={onFill} onBundle={onBundle} wanted={entry} />,
  },
  {
    id: "bundle",
    label: "bundles.tab",
    panel: ({ onClose, onFill, bundle }) => <BundlePanel wanted={bundle} onClose={onClose} onFill={onFill} />,
  },
];

export type AddServerModalProps = {
  opened: boolean;
  /** The way to add a server that is shown first; the form where absent. */
  start?: "form" | "import";
  /** What the dialog is opened for. */
  offer?: ServerOffer | null;
  onClose: () => void;
};

/** The window of the dialog. Its content, secrets included, is dropped when it closes. */
export function AddServerModal({ opened, start = "form", offer = null, onClose }: AddServerModalProps) {
  const t = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={t("servers.form.add")} size="lg" closeOnClickOutside={false}>
      {opened && <AddServerContent start={start} offer={offer} onClose={onClose} />}
    </Modal>
  );
}

type ContentProps = { start: "form" | "import"; offer: ServerOffer | null; onClose: () => void };

/** What is in the dialog. It stays what it was opened for: what is offered later replaces nothing. */
function AddServerContent({ start, offer, onClose }: ContentProps) {
  const t = useMessages();
  const [own] = useState(offer);
  return (
    <Stack gap="md">
      {offer !== null && offer !== own && (
        <Alert color="orange" role="status">
          {t("link" in offer ? "servers.form.another" : "servers.form.anotherBundle")}
        </Alert>
      )}
      {own === null && <AddServerTabs start={start} onClose={onClose} />}
      {own !== null && "link" in own && <LinkedServer link={own.link} onClose={onClose} />}
      {own !== null && "bundle" in own && (
        <AddServerTabs start="bundle" bundle={{ file: own.bundle, sha256: null }} onClose={onClose} />
      )}
    </Stack>
  );
}

/** The settings of a link in the form, or its entry of the registry. */
function LinkedServer({ link, onClose }: { link: string; onClose: () => void }) {
  const t = useMessages();
  const { data, error } = useCoreQuery("links.read", { link });
  if (error !== null)
    return (
      <Stack gap="md">
        <ErrorAlert error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("appShell.close")}
          </Button>
        </Group>
      </Stack>
    );
  if (data === undefined) return <LoadingIndicator />;
  return data.kind === "server" ? (
    <AddServerTabs
      start="form"
      form={{ draft: data.draft, secrets: [], link: { hadSecrets: data.hadSecrets } }}
      onClose={onClose}
    />
  ) : (
    <AddServerTabs start="registry" entry={{ name: data.name, version: data.version }} onClose={onClose} />
  );
}

type TabsProps = {
  /** The way that is shown first. */
  start: "form" | "import" | "registry" | "bundle";
  /** What the form begins with. */
  form?: FilledServer | null;
  /** The entry of the registry that is shown first. */
  entry?: WantedEntry | null;
  /** The bundle that is shown first. */
  bundle?: WantedBundle | null;
  onClose: () => void;
};

function AddServerTabs({ start, form = null, entry = null, bundle: firstBundle = null, onClose }: TabsProps) {
  const t = useMessages();
  const [tab, setTab] = useState<string | null>(start);
  const [importFrom, setImportFrom] = useState<ImportOrigin | null>(null);
  // The form starts anew with each settings that are taken over.
  const [{ filled, times }, setFilled] = useState<{ filled: FilledServer | null; times: number }>({
    filled: form,
    times: 0,
  });
  const onFill = (next: FilledServer) => {
    setFilled((before) => ({ filled: next, times: before.times + 1 }));
    setTab("form");
  };
  const [bundle, setBundle] = useState(firstBundle);
  const onBundle = (sha256: string | null) => {
    setBundle({ file: null, sha256 });
    setTab("bundle");
  };
  const onImport = (from: ImportOrigin) => {
    setImportFrom(from);
    setTab("import");
  };
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(next) => {
        setImportFrom(null);
        setBundle(null);
        setTab(next);
      }}
    >
      <Tabs.List className={styles.tabs}>
        {tabs.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {t(label)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ id, panel }) => (
        // What was typed into the form is still there after a look at another tab.
        <Tabs.Panel key={id} value={id} keepMounted={id === "form"}>
          <Suspense key={times} fallback={<LoadingIndicator />}>
            {panel({ onClose, onFill, filled, onImport, importFrom, entry, bundle, onBundle })}
          </Suspense>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
