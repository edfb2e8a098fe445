/** The icons, drawn on a grid of 20. Decoration: the buttons they stand in have names. */

const PATHS = {
  plus: 'M10 4v12M4 10h12',
  search: 'M9 14.5a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11Zm4-1.5 4 4',
  send: 'M10 16V4M5 9l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  menu: 'M3 6h14M3 10h14M3 14h14',
  close: 'M5 5l10 10M15 5 5 15',
  more: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
  edit: 'M4 16l1-4 8-8 3 3-8 8-4 1Z',
  copy: 'M7 7V4h9v9h-3M4 7h9v9H4z',
  again: 'M15.5 8A6 6 0 1 0 16 11M16 4v4h-4',
  archive: 'M3 5h14v3H3zM4.5 8v8h11V8M8 11h4',
  prompt: 'M3 4h14v12H3zM12 4v12M6 8h3M6 11h3',
  settings: 'M4 6h6M14 6h2M4 14h2M10 14h6M12 4v4M8 12v4',
  down: 'M10 4v12M5 11l5 5 5-5',
  file: 'M5 3h7l3 3v11H5zM12 3v3h3',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
