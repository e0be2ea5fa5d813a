// JSON pointers (RFC 6901).

/** A name or index of a pointer as it is. */
export const unescapePart = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** The names and indices that a pointer consists of, from the outermost on; none for the whole document. */
export const pointerParts = (pointer: string): string[] => pointer.split("/").slice(1).map(unescapePart);

/** The pointer to a member of the whole document. */
export const pointerTo = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
