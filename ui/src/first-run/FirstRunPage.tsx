import { Button } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import clsx from "clsx";
import { Suspense, useEffect, useState, type ComponentType } from "react";

import { useFocusSuccessor } from "../components/useFocusSuccessor";
import { lazyWithPrefetch, prefetchWhenIdle } from "../components/lazyWithPrefetch";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { Page } from "../components/Page";
import { useMessages } from "../messages";
import { navigate } from "../navigation/route";
import type { PreferencesProps } from "../theme/useAppearance";
import { ServersStep } from "./ServersStep";
import styles from "./FirstRunPage.module.css";

export type StepProps = { onDone: () => void };

const ClientStep = lazyWithPrefetch<StepProps>(async () => (await import("./ClientStep")).ClientStep);
const PracticeStep = lazyWithPrefetch<StepProps>(async () => (await import("./PracticeStep")).PracticeStep);

type Step = { name: "servers" | "client" | "practice"; Content: ComponentType<StepProps> };

const steps: readonly Step[] = [
  { name: "servers", Content: ServersStep },
  { name: "client", Content: ClientStep },
  { name: "practice", Content: PracticeStep },
];

/** The first steps (UI-11): servers, a client, and what an approval request looks like. Each can be skipped. */
export function FirstRunPage({ preferences, onPreferences }: PreferencesProps) {
  const t = useMessages();
  const [at, setAt] = useState(0);
  const watched = useFocusSuccessor<HTMLOListElement>(at, "[aria-current=step] h2 button");
  useEffect(() => {
    prefetchWhenIdle([ClientStep, PracticeStep]);
  }, []);
  const leave = () => {
    onPreferences({ ...preferences, firstRunDone: true });
    navigate({ page: "servers" });
  };
  return (
    <Page
      title={t("firstRun.title")}
      actions={
        <Button variant="subtle" size="xs" onClick={leave}>
          {t("firstRun.skip")}
        </Button>
      }
    >
      <p className={styles.text}>{t("firstRun.text")}</p>
      <ol className={styles.steps} {...watched}>
        {steps.map(({ name, Content }, index) => (
          <li
            key={name}
            className={clsx("card", styles.step)}
            aria-current={index === at ? "step" : undefined}
            aria-label={t(`firstRun.${name}`)}
          >
            <h2 className={styles.heading}>
              <button
                type="button"
                className={styles.button}
                aria-expanded={index === at}
                onClick={() => {
                  setAt(index);
                }}
              >
                <span className={clsx(styles.number, index < at && styles.done)}>
                  {index < at ? <IconCheck size={15} aria-hidden /> : index + 1}
                </span>
                {t(`firstRun.${name}`)}
              </button>
            </h2>
            {index === at && (
              <div className={styles.content}>
                <Suspense fallback={<LoadingIndicator />}>
                  <Content
                    onDone={() => {
                      if (index + 1 < steps.length) setAt(index + 1);
                      else leave();
                    }}
                  />
                </Suspense>
              </div>
            )}
          </li>
        ))}
      </ol>
    </Page>
  );
}
