import {
  IconBrain,
  IconBug,
  IconCalendar,
  IconClock,
  IconCloud,
  IconCode,
  IconDatabase,
  IconFolder,
  IconGitBranch,
  IconHome,
  IconMail,
  IconMap,
  IconMessage,
  IconNotes,
  IconPhoto,
  IconSearch,
  IconServer2,
  IconShoppingCart,
  IconTerminal2,
  IconWorld,
  IconWorldDownload,
  type Icon,
} from "@tabler/icons-react";

/** The icons that a server can have; all of them are in the program, and none is ever fetched. */
const icons = {
  brain: IconBrain,
  bug: IconBug,
  calendar: IconCalendar,
  cart: IconShoppingCart,
  chat: IconMessage,
  clock: IconClock,
  cloud: IconCloud,
  code: IconCode,
  database: IconDatabase,
  download: IconWorldDownload,
  folder: IconFolder,
  git: IconGitBranch,
  home: IconHome,
  mail: IconMail,
  map: IconMap,
  notes: IconNotes,
  photo: IconPhoto,
  search: IconSearch,
  terminal: IconTerminal2,
  world: IconWorld,
} satisfies Record<string, Icon>;

export type IconName = keyof typeof icons;

export const iconNames = Object.keys(icons) as IconName[];

function isIconName(name: string): name is IconName {
  return Object.hasOwn(icons, name);
}

/** The icon of a server by its name; a name that there is not is a server like any other. */
export function ServerIcon({ name, size }: { name: string; size: number }) {
  const Shape = isIconName(name) ? icons[name] : IconServer2;
  return <Shape size={size} stroke={1.75} aria-hidden data-icon={isIconName(name) ? name : "server"} />;
}
