import { createSpotlight } from "@mantine/spotlight";

/** The store of the command palette, and what opens it, also before the palette is loaded. */
export const [commandPaletteStore, commandPalette] = createSpotlight();
