import {
  ActionIcon,
  Button,
  Checkbox,
  NativeSelect,
  PasswordInput,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useState } from "react";

import { useMessages, useRender } from "../messages";
import { BuiltinFields } from "./BuiltinFields";
import { CommandPreview } from "./CommandPreview";
import { IconField } from "./IconField";
import { emptyLine, protocolVersions, type FormFaults, type NameValueLine, type ServerForm } from "./serverForm";
import { LimitsFields } from "./LimitsFields";
import { HeadersFrom, RemoteFields } from "./RemoteFields";
import { SignInFields } from "./SignInFields";
import { Collapse } from "../components/Collapse";
import collapseStyles from "../components/Collapse.module.css";
import styles from "./ServerFields.module.css";

type Props = {
  form: ServerForm;
  faults: FormFaults;
  /** The part that is wanted. */
  at?: "sign-in" | undefined;
  onChange: (change: Partial<ServerForm>) => void;
};

/** The fields of a server. */
export function ServerFields({ form, faults, at, onChange }: Props) {
  const t = useMessages();
  const render = useRender();
  const [more, setMore] = useState(false);
  const said = (key: keyof FormFaults) => {
    const fault = faults[key];
    return fault === undefined ? null : render(fault);
  };
  if ("protocolVersion" in faults && !more) setMore(true);
  return (
    <Stack gap="sm">
      <SegmentedControl
        fullWidth
        aria-label={t("servers.form.kind")}
        data={[
          { value: "stdio", label: t("servers.form.stdio") },
          { value: "http", label: t("servers.form.http") },
          { value: "builtin", label: t("servers.form.builtin") },
        ]}
        value={form.kind}
        onChange={(kind) => {
          onChange({ kind });
        }}
      />
      <TextInput
        label={t("servers.form.name")}
        description={t("servers.form.nameHint")}
        value={form.name}
        error={said("name")}
        onChange={(event) => {
          onChange({ name: event.currentTarget.value });
        }}
      />
      {form.kind === "stdio" && <CommandField form={form} error={said("command")} onChange={onChange} />}
      {form.kind === "http" && <RemoteFields form={form} said={said} onChange={onChange} />}
      {form.kind === "builtin" && <BuiltinFields form={form} said={said} onChange={onChange} />}
      {form.kind !== "builtin" && <Lines form={form} error={said("lines")} onChange={onChange} />}
      {form.kind === "http" && <HeadersFrom form={form} said={said} onChange={onChange} />}
      {form.kind === "http" && (
        <SignInFields
          form={form.signIn}
          faults={faults}
          wanted={at === "sign-in"}
          onChange={(signIn) => {
            onChange({ signIn });
          }}
        />
      )}
      <Switch
        label={t("servers.form.autostart")}
        description={t("servers.form.autostartHint")}
        checked={form.autostart}
        onChange={(event) => {
          onChange({ autostart: event.currentTarget.checked });
        }}
      />
      <Collapse label={t("servers.form.more")} opened={more} onOpened={setMore}>
        <Stack gap="sm">
          {form.kind === "stdio" && (
            <TextInput
              label={t("servers.form.cwd")}
              description={t("servers.form.cwdHint")}
              value={form.cwd}
              onChange={(event) => {
                onChange({ cwd: event.currentTarget.value });
              }}
            />
          )}
          {form.kind === "stdio" && (
            <Checkbox
              label={t("servers.form.pipes")}
              description={t("servers.form.pipesHint")}
              checked={form.pipes}
              onChange={(event) => {
                onChange({ pipes: event.currentTarget.checked });
              }}
            />
          )}
          {form.kind !== "builtin" && (
            <NativeSelect
              label={t("servers.form.protocolVersion")}
              description={t("servers.form.protocolVersionHint")}
              data={protocolVersions.map((value) => ({ value, label: t(`servers.form.protocolVersion.${value}`) }))}
              value={form.protocolVersion}
              error={said("protocolVersion")}
              onChange={(event) => {
                const chosen = protocolVersions.find((one) => one === event.currentTarget.value);
                if (chosen !== undefined) onChange({ protocolVersion: chosen });
              }}
            />
          )}
          <Checkbox
            label={t("servers.form.recordBodies")}
            description={t("servers.form.recordBodiesHint")}
            checked={form.recordBodies}
            onChange={(event) => {
              onChange({ recordBodies: event.currentTarget.checked });
            }}
          />
          <TextInput
            label={t("servers.form.description")}
            value={form.description}
            onChange={(event) => {
              onChange({ description: event.currentTarget.value });
            }}
          />
          <IconField
            icon={form.icon}
            onChange={(icon) => {
              onChange({ icon });
            }}
          />
          <TextInput
            label={t("servers.form.group")}
            value={form.group}
            onChange={(event) => {
              onChange({ group: event.currentTarget.value });
            }}
          />
        </Stack>
      </Collapse>
      <LimitsFields
        limits={form.limits}
        faults={faults}
        onChange={(limits) => {
          onChange({ limits });
        }}
      />
    </Stack>
  );
}

/** The command, and how its words were told apart. */
function CommandField({
  form,
  error,
  onChange,
}: {
  form: ServerForm;
  error: string | null;
  onChange: Props["onChange"];
}) {
  const t = useMessages();
  return (
    <div>
      <TextInput
        label={t("servers.form.command")}
        description={t("servers.form.commandHint")}
        classNames={{ input: "mono" }}
        spellCheck={false}
        value={form.command}
        error={error}
        onChange={(event) => {
          onChange({ command: event.currentTarget.value });
        }}
      />
      <CommandPreview line={form.command} />
    </div>
  );
}

/** Environment or headers, a line each. */
function Lines({ form, error, onChange }: { form: ServerForm; error: string | null; onChange: Props["onChange"] }) {
  const t = useMessages();
  const change = (at: number, part: Partial<NameValueLine>) => {
    onChange({ lines: form.lines.map((line, place) => (place === at ? { ...line, ...part } : line)) });
  };
  return (
    <fieldset className={styles.lines} data-fault={error === null ? undefined : true}>
      <legend>{t(form.kind === "stdio" ? "servers.form.env" : "servers.form.headers")}</legend>
      {form.lines.map((line, at) => (
        <div key={at} className={styles.line}>
          <TextInput
            aria-label={t("servers.form.varName")}
            placeholder={t("servers.form.varName")}
            classNames={{ input: "mono" }}
            value={line.name}
            onChange={(event) => {
              change(at, { name: event.currentTarget.value, kept: false });
            }}
          />
          {line.secret ? (
            <PasswordInput
              aria-label={t("servers.form.varValue")}
              placeholder={t(line.kept ? "servers.form.secretKept" : "servers.form.varValue")}
              value={line.value}
              onChange={(event) => {
                change(at, { value: event.currentTarget.value });
              }}
            />
          ) : (
            <TextInput
              aria-label={t("servers.form.varValue")}
              placeholder={t("servers.form.varValue")}
              classNames={{ input: "mono" }}
              value={line.value}
              onChange={(event) => {
                change(at, { value: event.currentTarget.value });
              }}
            />
          )}
          <Checkbox
            label={t("servers.form.secret")}
            title={t("servers.form.secretHint")}
            checked={line.secret}
            onChange={(event) => {
              change(at, { secret: event.currentTarget.checked, kept: false });
            }}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t("servers.form.removeVar", { name: line.name })}
            onClick={() => {
              onChange({ lines: form.lines.filter((_, place) => place !== at) });
            }}
          >
            <IconX size={16} aria-hidden />
          </ActionIcon>
        </div>
      ))}
      {error !== null && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
      <Button
        variant="subtle"
        size="xs"
        className={collapseStyles.aligned}
        leftSection={<IconPlus size={14} aria-hidden />}
        onClick={() => {
          onChange({ lines: [...form.lines, emptyLine] });
        }}
      >
        {t("servers.form.addVar")}
      </Button>
    </fieldset>
  );
}
