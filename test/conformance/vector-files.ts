// The project's own copy of the vectors, for the runtimes that cannot read a folder.
// As text: workerd takes no JSON modules from Vite.
const texts = import.meta.glob<string>('./vectors/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** Cases by the name of their file. */
export const vectorFiles: Readonly<Record<string, readonly unknown[]>> = Object.fromEntries(
  Object.entries(texts).map(([path, text]) => {
    const name = path.replace('./vectors/', '').replace('.json', '')
    return [name, JSON.parse(text) as readonly unknown[]]
  }),
)
