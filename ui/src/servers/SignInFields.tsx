import { ActionIcon, Group, PasswordInput, Select, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useRef, useState } from "react";

import { useMessages, useRender, type MessageKey } from "../messages";
import type { FormFaults } from "./serverForm";
import {
  noSecret,
  signInFields,
  signInMethods,
  tokenMethods,
  type SecretForm,
  type SignInField,
  type SignInForm,
} from "./signInForm";
import { Collapse } from "../components/Collapse";
import serverFieldsStyles from "./ServerFields.module.css";
import styles from "./SignInFields.module.css";

type Props = {
  form: SignInForm;
  faults: FormFaults;
  /** Whether it is what the user came for. */
  wanted: boolean;
  onChange: (form: SignInForm) => void;
};

type PartProps = {
  form: SignInForm;
  said: (key: SignInField) => string | null;
  change: (part: Partial<SignInForm>) => void;
};

/** Sign-in settings. Expanded if something in them is invalid. */
export function SignInFields({ form, faults, wanted, onChange }: Props) {
  const t = useMessages();
  const render = useRender();
  const [opened, setOpened] = useState(wanted);
  const [came, setCame] = useState(wanted);
  const id = useRef<HTMLInputElement>(null);
  if (wanted !== came) {
    setCame(wanted);
    if (wanted) setOpened(true);
  }
  // It stays open when the fault is mended: nothing goes away while somebody types in it.
  if (!opened && signInFields.some((name) => name in faults)) setOpened(true);
  useEffect(() => {
    if (wanted) id.current?.focus();
  }, [wanted]);
  const parts: PartProps = {
    form,
    said: (key) => {
      const fault = faults[key];
      return fault === undefined ? null : render(fault);
    },
    change: (part) => {
      onChange({ ...form, ...part });
    },
  };
  const { said, change } = parts;
  return (
    <Collapse label={t("servers.signIn.section")} opened={opened} onOpened={setOpened}>
      <Stack gap="sm">
        <Switch
          label={t("servers.signIn.on")}
          description={t("servers.signIn.onHint")}
          checked={form.on}
          onChange={(event) => {
            change({ on: event.currentTarget.checked });
          }}
        />
        <Text size="sm" c="dimmed">
          {t("servers.signIn.usual")}
        </Text>
        <Select
          label={t("servers.signIn.with")}
          allowDeselect={false}
          data={signInMethods.map((value) => ({ value, label: t(`servers.signIn.with.${value}`) }))}
          value={form.with}
          onChange={(way) => {
            if (way !== null) change({ with: way });
          }}
        />
        {form.with === "client_key" && <PrivateKeyField {...parts} />}
        {form.with === "enterprise" && <EnterpriseFields {...parts} />}
        <TextInput
          ref={id}
          label={t("servers.signIn.id")}
          description={t("servers.signIn.idHint")}
          classNames={{ input: "mono" }}
          spellCheck={false}
          value={form.id}
          error={said("clientId")}
          onChange={(event) => {
            change({ id: event.currentTarget.value });
          }}
        />
        <SecretField
          label="servers.signIn.secret"
          secret={form.secret}
          error={said("clientSecret")}
          onChange={(secret) => {
            change({ secret });
          }}
        />
        <Select
          label={t("servers.signIn.method")}
          allowDeselect={false}
          data={(["", ...tokenMethods] as const).map((value) => ({
            value,
            label: t(`servers.signIn.method.${value === "" ? "any" : value}`),
          }))}
          value={form.method}
          onChange={(method) => {
            if (method !== null) change({ method });
          }}
        />
        <TextInput
          label={t("servers.signIn.scopes")}
          description={t("servers.signIn.scopesHint")}
          classNames={{ input: "mono" }}
          spellCheck={false}
          value={form.scopes}
          onChange={(event) => {
            change({ scopes: event.currentTarget.value });
          }}
        />
        <TextField
          name="redirect"
          hint="servers.signIn.redirectHint"
          placeholder="http://127.0.0.1:8976/callback"
          {...parts}
        />
        <fieldset className={clsx(serverFieldsStyles.lines, styles.endpoints)}>
          <legend>{t("servers.signIn.endpoints")}</legend>
          <TextField name="authorize" {...parts} />
          <TextField name="token" {...parts} />
          <TextField name="revoke" hint="servers.signIn.revokeHint" {...parts} />
        </fieldset>
      </Stack>
    </Collapse>
  );
}

type LineProps = PartProps & {
  name: "redirect" | "authorize" | "token" | "revoke" | "issuer" | "company";
  hint?: MessageKey;
  placeholder?: string;
};

/** A line of text. */
function TextField({ name, hint, placeholder, form, said, change }: LineProps) {
  const t = useMessages();
  return (
    <TextInput
      label={t(`servers.signIn.${name}`)}
      description={hint && t(hint)}
      placeholder={placeholder}
      classNames={{ input: "mono" }}
      spellCheck={false}
      value={form[name]}
      error={said(name)}
      onChange={(event) => {
        change({ [name]: event.currentTarget.value });
      }}
    />
  );
}

/** A private key, which no field of one line holds. */
function PrivateKeyField({ form, said, change }: PartProps) {
  const t = useMessages();
  const algorithms = [...new Set(["RS256", "ES256", form.algorithm])];
  return (
    <>
      <Textarea
        label={t("servers.signIn.key")}
        description={t("servers.form.secretHint")}
        placeholder={form.key.kept === null ? "-----BEGIN PRIVATE KEY-----" : t("servers.form.secretKept")}
        classNames={{ input: "mono" }}
        rows={4}
        spellCheck={false}
        autoComplete="off"
        value={form.key.value}
        error={said("key")}
        onChange={(event) => {
          change({ key: { ...form.key, value: event.currentTarget.value } });
        }}
      />
      <Select
        label={t("servers.signIn.algorithm")}
        allowDeselect={false}
        data={algorithms}
        value={form.algorithm}
        onChange={(algorithm) => {
          if (algorithm !== null) change({ algorithm });
        }}
      />
    </>
  );
}

/** Enterprise identity provider (ID-JAG). */
function EnterpriseFields(parts: PartProps) {
  const { form, said, change } = parts;
  return (
    <>
      <TextField name="issuer" placeholder="https://" {...parts} />
      <TextField name="company" {...parts} />
      <SecretField
        label="servers.signIn.companySecret"
        secret={form.companySecret}
        error={said("companySecret")}
        onChange={(companySecret) => {
          change({ companySecret });
        }}
      />
    </>
  );
}

type SecretProps = {
  label: MessageKey;
  secret: SecretForm;
  error: string | null;
  onChange: (secret: SecretForm) => void;
};

/** A secret; one that is kept already stays unless it is entered anew or taken out. */
function SecretField({ label, secret, error, onChange }: SecretProps) {
  const t = useMessages();
  return (
    <Group gap="xs" align="flex-end" wrap="nowrap" className={styles.secret}>
      <PasswordInput
        label={t(label)}
        description={t("servers.form.secretHint")}
        placeholder={secret.kept === null ? undefined : t("servers.form.secretKept")}
        autoComplete="off"
        value={secret.value}
        error={error}
        onChange={(event) => {
          onChange({ ...secret, value: event.currentTarget.value });
        }}
      />
      {secret.kept !== null && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t("servers.signIn.forget", { what: t(label) })}
          title={t("servers.signIn.forget", { what: t(label) })}
          onClick={() => {
            onChange(noSecret);
          }}
        >
          <IconX size={16} aria-hidden />
        </ActionIcon>
      )}
    </Group>
  );
}
