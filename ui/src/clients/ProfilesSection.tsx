import { Button, Group, Modal } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import clsx from "clsx";
import { ErrorAlert } from "../components/ErrorAlert";
import { useCoreQuery } from "../core/useCoreQuery";
import { useKeptDialog } from "../core/useKeptDialog";
import { useNames } from "../core/useNames";
import { useRemove } from "../core/useRemove";
import type { ProfileView } from "../generated/types";
import { useMessages } from "../messages";
import clientsPageStyles from "./ClientsPage.module.css";
import { ProfileEditor } from "./ProfileEditor";
import styles from "./Profiles.module.css";
import { ProjectServers } from "./ProjectServers";
import { ToolListText } from "./ToolListText";

/** The profiles that clients can use, with their editor. */
export function ProfilesSection() {
  const t = useMessages();
  const { data, error } = useCoreQuery("profiles.list", {});
  const { opened, id, formName, open, close } = useKeptDialog("profiles.editor");
  const edited = data?.find(({ profile }) => profile.id === id)?.profile ?? null;
  return (
    <section aria-label={t("profiles.title")}>
      <div className={styles.head}>
        <h2>{t("profiles.title")}</h2>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => {
            open(null);
          }}
        >
          {t("profiles.add")}
        </Button>
      </div>
      <p className={styles.hint}>{t("profiles.text")}</p>
      {error && <ErrorAlert error={error} />}
      <div className={clsx(clientsPageStyles.list, styles.list)}>
        {data?.map((view) => (
          <ProfileCard
            key={view.profile.id}
            view={view}
            onEdit={() => {
              open(view.profile.id);
            }}
          />
        ))}
      </div>
      <Modal
        opened={opened && (id === null || edited !== null)}
        onClose={close}
        size="lg"
        title={edited === null ? t("profiles.add") : t("profiles.editTitle", { name: edited.settings.name })}
      >
        <ProfileEditor key={id} formName={formName} profile={edited} onDone={close} />
      </Modal>
    </section>
  );
}

function ProfileCard({ view, onEdit }: { view: ProfileView; onEdit: () => void }) {
  const t = useMessages();
  const names = useNames();
  const remove = useRemove("profiles.remove");
  const { profile, clients, toolList } = view;
  const { name, folders, otherServers } = profile.settings;
  return (
    <article className={clsx("card", clientsPageStyles.client)} aria-label={name}>
      <div className={clientsPageStyles.text}>
        <strong>{name}</strong>
        <span className={clientsPageStyles.small}>
          {clients.length === 0
            ? t("profiles.unused")
            : t("profiles.usedBy", { clients: clients.map((client) => names.client(client)) })}
        </span>
        <ToolListText cost={toolList} />
        {folders.map((folder) => (
          <span key={folder} className={clientsPageStyles.small}>
            {t("profiles.folder", { folder })}
          </span>
        ))}
        {folders.length > 0 && otherServers === "shown" && <ProjectServers profile={profile.id} />}
      </div>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={onEdit}>
          {t("profiles.edit")}
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={clients.length > 0}
          loading={remove.busy}
          onClick={() => void remove.run({ profile: profile.id }, t("appShell.removed", { name }))}
        >
          {t("profiles.remove")}
        </Button>
      </Group>
    </article>
  );
}
