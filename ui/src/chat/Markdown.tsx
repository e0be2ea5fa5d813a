import { IconCheckbox, IconPhotoOff, IconSquare } from "@tabler/icons-react";
import { memo, useDeferredValue, type ComponentProps, type ReactNode } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";

import { CopyButton } from "../components/CopyButton";
import { useCore } from "../core/CoreProvider";
import { showError } from "../core/useAction";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { safeAddress } from "./safeAddress";
import styles from "./Markdown.module.css";

const plugins = [remarkGfm];

/**
 * A text of a model. Markup in it stays text, links open in the browser when they are clicked, and nothing is ever loaded:
 * an image of another host would tell it what is read here.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  // While a long text grows, typing and scrolling come first.
  const shown = useDeferredValue(text);
  return (
    <div className={styles.markdown}>
      <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeAddress}>
        {shown}
      </ReactMarkdown>
    </div>
  );
});

type Part<Tag extends keyof React.JSX.IntrinsicElements> = ComponentProps<Tag> & ExtraProps;

/** A page has one heading of the first level, and it is none of a message. */
const heading = ({ children }: { children?: ReactNode }) => <h4>{children}</h4>;

const components: Components = {
  a: Link,
  img: RemoteImage,
  pre: CodeBlock,
  table: Table,
  input: Tick,
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: heading,
  h4: heading,
  h5: heading,
  h6: heading,
};

function Link({ href, children }: Part<"a">) {
  const { platform } = useCore();
  if (!href) return <span>{children}</span>;
  const open = () => {
    platform.openLink(href).catch((thrown: unknown) => {
      showError(toUserError(thrown));
    });
  };
  return (
    <a
      href={href}
      title={href}
      rel="noreferrer"
      className={styles.link}
      onClick={(event) => {
        event.preventDefault();
        open();
      }}
      onAuxClick={(event) => {
        event.preventDefault();
      }}
    >
      {children}
    </a>
  );
}

function RemoteImage({ src, alt }: Part<"img">) {
  const t = useMessages();
  const words = alt === undefined || alt === "" ? t("chat.image") : alt;
  return (
    <span className={styles.image} title={typeof src === "string" && src !== "" ? src : undefined}>
      <IconPhotoOff size={14} aria-hidden /> {t("chat.imageNotLoaded", { name: words })}
    </span>
  );
}

function CodeBlock({ node, children }: Part<"pre">) {
  const t = useMessages();
  const [code] = node?.children ?? [];
  const name = code?.type === "element" ? code.properties.className : undefined;
  const language = Array.isArray(name) ? String(name[0]).replace(/^language-/, "") : "";
  const text = code?.type === "element" && code.children[0]?.type === "text" ? code.children[0].value : "";
  return (
    <div className={styles.code}>
      <div className={styles.codeHead}>
        <span>{language}</span>
        <CopyButton text={text} label={t("chat.copyCode")} />
      </div>
      {/* Focusable, so that it scrolls by keyboard. */}
      <pre tabIndex={0}>{children}</pre>
    </div>
  );
}

function Table({ children }: Part<"table">) {
  const t = useMessages();
  return (
    <div className={styles.table} tabIndex={0} role="group" aria-label={t("chat.table")}>
      <table>{children}</table>
    </div>
  );
}

/** The mark of a task in a list. */
function Tick({ checked }: Part<"input">) {
  const t = useMessages();
  const Icon = checked === true ? IconCheckbox : IconSquare;
  return (
    <Icon
      size={15}
      className={styles.tick}
      role="img"
      aria-label={t(checked === true ? "chat.task.done" : "chat.task.open")}
    />
  );
}
