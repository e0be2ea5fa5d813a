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

export function isIconName(name: string): name is IconName {
  return Object.hasOwn(icons, name);
}

/** One emoji, of however many characters. Other texts could pass for a server's name, or for words of Gatehouse. */
const oneEmoji =
  /^(?:\p{RI}\p{RI}|\p{Extended_Pictographic}(?:\p{EMod}|\ufe0f)?(?:\u200d\p{Extended_Pictographic}(?:\p{EMod}|\ufe0f)?){0,4})$/u;

export function isEmoji(text: string): boolean {
  return oneEmoji.test(text);
}

/**
 * The icon of a server: one of ours by its name, or an emoji that the user chose. Anything else is a server like any
 * other. An image of the server's own is never shown here, since this is also what is shown where a person decides.
 */
export function ServerIcon({ name, size }: { name: string; size: number }) {
  if (isEmoji(name))
    return (
      <svg width={size} height={size} viewBox="0 0 20 20" aria-hidden data-icon="emoji">
        <text x="10" y="10" fontSize="16" textAnchor="middle" dominantBaseline="central">
          {name}
        </text>
      </svg>
    );
  const Shape = isIconName(name) ? icons[name] : IconServer2;
  return <Shape size={size} stroke={1.75} aria-hidden data-icon={isIconName(name) ? name : "server"} />;
}
