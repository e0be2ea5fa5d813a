import { Button, Group, Input, PasswordInput } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useId, useState } from "react";

import { useMessages } from "../messages";
import { noKey, type ProviderForm } from "./providerForm";
import styles from "./ApiKeyField.module.css";

type Props = {
  apiKey: ProviderForm["key"];
  /** Whether one is stored. It is never shown. */
  hasKey: boolean;
  isOptional: boolean;
  /** Whether the stored one will be deleted, because the address is another one. */
  isLost: boolean;
  onChange: (key: ProviderForm["key"]) => void;
};

/** The key of a provider: one that is stored can be replaced or deleted. */
export function ApiKeyField({ apiKey, hasKey, isOptional, isLost, onChange }: Props) {
  const t = useMessages();
  const id = useId();
  const [isReplacing, setIsReplacing] = useState(false);
  // Only with an empty field: what was typed in the meantime is not a new key yet.
  if (apiKey.is !== "entered") {
    const isDeleted = apiKey.is === "deleted";
    return (
      <Input.Wrapper label={t("models.key")} labelElement="div" labelProps={{ id }}>
        <Group role="group" aria-labelledby={id} gap="xs" className={styles.stored}>
          <span className={styles.state}>
            <IconKey size={16} aria-hidden />
            {t(isDeleted ? "models.keyWillGo" : isLost ? "models.keyLost" : "models.keyStored")}
          </span>
          {isDeleted ? (
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                onChange({ is: "kept" });
              }}
            >
              {t("models.keepKey")}
            </Button>
          ) : (
            <>
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  setIsReplacing(true);
                  onChange(noKey);
                }}
              >
                {t("models.replaceKey")}
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  onChange({ is: "deleted" });
                }}
              >
                {t("models.deleteKey")}
              </Button>
            </>
          )}
        </Group>
      </Input.Wrapper>
    );
  }
  return (
    <Group gap="xs" align="flex-end" wrap="nowrap">
      <PasswordInput
        className={styles.entry}
        label={t(isOptional ? "models.keyOptional" : "models.key")}
        description={t("models.keyHint")}
        autoComplete="off"
        spellCheck={false}
        autoFocus={isReplacing}
        value={apiKey.text}
        onChange={(event) => {
          onChange({ is: "entered", text: event.currentTarget.value });
        }}
      />
      {hasKey && (
        <Button
          variant="default"
          onClick={() => {
            setIsReplacing(false);
            onChange({ is: "kept" });
          }}
        >
          {t("models.keepKey")}
        </Button>
      )}
    </Group>
  );
}
