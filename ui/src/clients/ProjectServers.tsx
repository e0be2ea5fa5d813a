import { Button } from "@mantine/core";
import { useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useAction } from "../core/useAction";
import type { ProjectFileReport, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import clientsPageStyles from "./ClientsPage.module.css";

/** Reads the projects of a profile on a click, and says which servers the user is asked about. */
export function ProjectServers({ profile }: { profile: string }) {
  const t = useMessages();
  const [reports, setReports] = useState<readonly ProjectFileReport[]>([]);
  const [error, setError] = useState<UserError | null>(null);
  const add = useAction("profiles.addServers");
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        loading={add.busy}
        onClick={() => {
          setError(null);
          add.request({ profile }).then(setReports, (thrown: unknown) => {
            setError(toUserError(thrown));
          });
        }}
      >
        {t("profiles.projectServers")}
      </Button>
      <div role="status">
        {reports.map(({ file, asked, problems }) => (
          <div key={file}>
            <span className={clientsPageStyles.small}>
              {asked.length === 0
                ? t("profiles.projectServers.none", { file })
                : t("profiles.projectServers.asked", { file, servers: asked })}
            </span>
            {problems.map((problem, at) => (
              <ErrorAlert key={at} error={problem} />
            ))}
          </div>
        ))}
      </div>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
