// What Vite makes of imports and of `import.meta` in the page.
declare module '*.css'

interface ImportMeta {
  readonly env: { readonly PROD: boolean }
}
