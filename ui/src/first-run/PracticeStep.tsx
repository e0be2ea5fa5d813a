import { Alert, Button, Loader } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useCore } from "../core/CoreProvider";
import { showError } from "../core/useAction";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import type { StepProps } from "./FirstRunPage";
import styles from "./FirstRunPage.module.css";

type Practice =
  { is: "idle" } | { is: "waiting" } | { is: "allowed" } | { is: "denied" } | { is: "failed"; error: UserError };

/** Puts a request to the user that is real, for a call that is harmless. */
export function PracticeStep({ onDone }: StepProps) {
  const t = useMessages();
  const { platform } = useCore();
  const [practice, setPractice] = useState<Practice>({ is: "idle" });
  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const end = (how: Practice) => {
    if (!gone.current) setPractice(how);
  };
  const begin = () => {
    setPractice({ is: "waiting" });
    platform.command("approvals.practice", {}).then(
      ({ isAllowed }) => {
        end({ is: isAllowed ? "allowed" : "denied" });
      },
      (thrown: unknown) => {
        end({ is: "failed", error: toUserError(thrown) });
      },
    );
  };
  const showPrompt = () => {
    platform.showPrompt().catch((thrown: unknown) => {
      showError(toUserError(thrown));
    });
  };
  const isOver = practice.is === "allowed" || practice.is === "denied";
  return (
    <>
      <p>{t("firstRun.practiceText")}</p>
      <div role="status" className={styles.wide}>
        {practice.is === "waiting" && (
          <Alert color="blue" icon={<Loader size="xs" />}>
            {t("firstRun.practiceWaits")}
          </Alert>
        )}
        {practice.is === "allowed" && (
          <Alert color="teal" icon={<IconCheck size={18} aria-hidden />}>
            {t("firstRun.practiceAllowed")}
          </Alert>
        )}
        {practice.is === "denied" && (
          <Alert color="orange" icon={<IconX size={18} aria-hidden />}>
            {t("firstRun.practiceDenied")}
          </Alert>
        )}
      </div>
      {practice.is === "failed" && <ErrorAlert error={practice.error} />}
      <div className={styles.actions}>
        {isOver && <Button onClick={onDone}>{t("firstRun.finish")}</Button>}
        {practice.is === "waiting" ? (
          <Button variant="default" onClick={showPrompt}>
            {t("firstRun.showRequest")}
          </Button>
        ) : (
          <Button {...(isOver && { variant: "default" })} onClick={begin}>
            {t(practice.is === "idle" ? "firstRun.try" : "firstRun.tryAgain")}
          </Button>
        )}
        {!isOver && (
          <Button variant="subtle" onClick={onDone}>
            {t("firstRun.finishWithout")}
          </Button>
        )}
      </div>
    </>
  );
}
