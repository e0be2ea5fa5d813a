import { createTheme } from "@mantine/core";

/**
 * What components do by themselves; `close` is what their close buttons are called. Colours, sizes and distances are variables in `tokens.css`, since
 * the content security policy lets no style element in.
 */
export const themeWith = (close: string) =>
  createTheme({
    primaryColor: "teal",
    primaryShade: { light: 8, dark: 8 },
    cursorType: "pointer",
    respectReducedMotion: true,
    // By name: to import the components would load them before the first paint.
    components: {
      // Locking the scroll would write a style element.
      Modal: {
        defaultProps: {
          lockScroll: false,
          transitionProps: { duration: 120 },
          closeButtonProps: { "aria-label": close },
        },
      },
      Notification: { defaultProps: { closeButtonProps: { "aria-label": close } } },
      Tooltip: { defaultProps: { openDelay: 400, transitionProps: { duration: 100 } } },
    },
  });
