import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

const onlyPlatform = {
  paths: [],
  patterns: [
    {
      group: ["@tauri-apps", "@tauri-apps/*", "@tauri-apps/**"],
      message: "Only src/platform knows Tauri; import from there.",
    },
  ],
};

export default tseslint.config(
  { ignores: ["dist", "dist-browser", "node_modules", "src/generated"] },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      globals: globals.browser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "@typescript-eslint/consistent-type-definitions": ["error", "type"],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "no-restricted-imports": ["error", onlyPlatform],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXText[value=/\\p{L}/u]",
          message: "Text that people see is in locales.",
        },
        {
          selector: "ImportExpression[source.value=/^@tauri-apps/]",
          message: "Only src/platform knows Tauri; import from there.",
        },
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Text of others is never markup.",
        },
      ],
    },
  },
  {
    files: ["src/platform/**/*.{ts,tsx}"],
    rules: { "no-restricted-imports": "off" },
  },
);
