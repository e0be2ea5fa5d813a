/** From when on it is said that something takes long, with Cancel where it can be cancelled, in milliseconds. */
export const SLOW_MS = 3000;
