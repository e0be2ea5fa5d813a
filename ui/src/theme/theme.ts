import { createTheme, Modal, Tooltip } from "@mantine/core";

/**
 * What components do by themselves. Colours, sizes and distances are variables in `tokens.css`, since
 * the content security policy lets no style element in.
 */
export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: { light: 8, dark: 8 },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Locking the scroll would write a style element.
    Modal: Modal.extend({ defaultProps: { lockScroll: false, transitionProps: { duration: 120 } } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 400, transitionProps: { duration: 100 } } }),
  },
});
