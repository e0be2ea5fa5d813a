import { useMediaQuery } from "@mantine/hooks";

import clsx from "clsx";
import { useMessages } from "../messages";
import { Logo } from "../components/Logo";
import { pages } from "./pages";
import { formatRoute, type Route } from "../navigation/route";
import styles from "./Sidebar.module.css";

/** Navigation to all pages, with the number of pending approvals. */
export function Sidebar({ route, waiting }: { route: Route; waiting: number }) {
  const t = useMessages();
  const narrow = useMediaQuery("(max-width: 900px)");
  return (
    <nav className={styles.sidebar} aria-label={t("appShell.pages")}>
      <div className={styles.brand}>
        <Logo />
        <span>{t("app.name")}</span>
      </div>
      {pages.map(({ name, icon: Icon, route: to, covers }) => {
        const badge = to.page === "approvals" && waiting > 0 ? waiting : null;
        return (
          <a
            key={name}
            className={to.page === "settings" ? clsx(styles.link, styles.foot) : styles.link}
            href={formatRoute(to)}
            title={narrow ? t(name) : undefined}
            aria-current={covers.includes(route.page) ? "page" : undefined}
          >
            <Icon size={18} stroke={1.75} aria-hidden />
            <span className={styles.name}>{t(name)}</span>
            {badge !== null && (
              <span className={styles.badge} aria-label={t("appShell.waiting", { count: badge })}>
                {badge}
              </span>
            )}
          </a>
        );
      })}
    </nav>
  );
}
