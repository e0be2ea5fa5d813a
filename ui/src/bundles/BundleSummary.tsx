import { Alert, Text } from "@mantine/core";
import { IconAlertTriangle, IconBan, IconInfoCircle, IconSignature } from "@tabler/icons-react";
import { useState } from "react";

import { Collapse } from "../components/Collapse";
import { seen } from "../components/invisibleChars";
import { MarkedText } from "../components/MarkedText";
import type { BundlePreview, BundleSignature } from "../generated/types";
import { useMessages, useSizes, type Translate } from "../messages";
import styles from "./BundleSummary.module.css";

/** What a bundle says of itself, and what would run. */
export function BundleSummary({ preview }: { preview: BundlePreview }) {
  const t = useMessages();
  const sizes = useSizes();
  const [detailed, setDetailed] = useState(false);
  const { name, version, author, description, longDescription, command, env, tools, refused } = preview;
  return (
    <section className={styles.summary} aria-label={t("bundles.summary")}>
      <h3 className={styles.title}>
        <MarkedText text={seen(name)} /> <span className="dim">{version}</span>
      </h3>
      {author !== null && <p className="dim">{t("bundles.author", { author })}</p>}
      {description !== "" && (
        <p>
          <MarkedText text={seen(description)} />
        </p>
      )}
      <p className={styles.signature}>
        <SignatureIcon state={preview.signature.state} /> {signatureText(t, preview.signature)}
      </p>
      {refused !== null && (
        <Alert color="red" role="alert" icon={<IconBan size={18} aria-hidden />}>
          {t.render(refused)}
        </Alert>
      )}
      {preview.warnings.map((warning, at) => (
        <Alert key={at} color="yellow" icon={<IconAlertTriangle size={18} aria-hidden />}>
          {t.render(warning)}
        </Alert>
      ))}
      <dl className={styles.facts}>
        <dt>{t("bundles.command")}</dt>
        <dd>
          {command.map((word, at) => (
            <code key={at}>
              <MarkedText text={seen(word)} />
            </code>
          ))}
        </dd>
        {Object.keys(env).length > 0 && (
          <>
            <dt>{t("servers.form.env")}</dt>
            <dd>
              {Object.entries(env).map(([variable, value]) => (
                <code key={variable}>
                  {variable}=<MarkedText text={seen(value)} />
                </code>
              ))}
            </dd>
          </>
        )}
        <dt>{t("bundles.content")}</dt>
        <dd>{t("bundles.files", { count: preview.files, size: sizes(preview.bytes) })}</dd>
      </dl>
      {(tools.length > 0 || longDescription !== null) && (
        <Collapse
          label={t(preview.moreTools ? "bundles.toolsMore" : "bundles.tools", { count: tools.length })}
          opened={detailed}
          onOpened={setDetailed}
        >
          <ul className={styles.tools} tabIndex={0} aria-label={t("servers.tab.tools")}>
            {tools.map((tool) => (
              <li key={tool.name}>
                <code>{tool.name}</code> <span className="dim">{tool.description}</span>
              </li>
            ))}
          </ul>
          {longDescription !== null && (
            <Text className={styles.long} tabIndex={0}>
              {longDescription}
            </Text>
          )}
        </Collapse>
      )}
    </section>
  );
}

function SignatureIcon({ state }: { state: BundleSignature["state"] }) {
  switch (state) {
    case "valid":
      return <IconSignature size={16} aria-hidden />;
    case "none":
      return <IconInfoCircle size={16} aria-hidden />;
    case "mismatch":
    case "unreadable":
      return <IconAlertTriangle size={16} aria-hidden />;
  }
}

function signatureText(t: Translate, signature: BundleSignature): string {
  switch (signature.state) {
    case "none":
      return t("bundles.signature.none");
    case "valid":
      return t("bundles.signature.valid", { signer: signature.signer });
    case "mismatch":
      return t("bundles.signature.mismatch");
    case "unreadable":
      return t("bundles.signature.unreadable");
  }
}
