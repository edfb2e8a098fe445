// Texts side by side in a terminal, where a Chinese character or an emoji takes two places.

const WIDE =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}|[\u3000-\u303f\uff01-\uff60]/u
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** How many places a text takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** A text in lines of at most `width` places, broken at spaces where there are some. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\s)/)) {
    if (line !== '' && widthOf(line + word.trimEnd()) > width) {
      lines.push(line.trimEnd())
      line = ''
    }
    for (const { segment } of graphemes.segment(word)) {
      if (widthOf(line + segment.trimEnd()) > width) {
        lines.push(line.trimEnd())
        line = ''
      }
      line += segment
    }
  }
  return line.trim() === '' && lines.length > 0 ? lines : [...lines, line.trimEnd()]
}

/** Blocks of lines next to each other. */
export function sideBySide(blocks: readonly (readonly string[])[], width: number): string[] {
  const height = Math.max(...blocks.map((block) => block.length))
  return Array.from({ length: height }, (_, row) =>
    blocks
      .map((block) => block[row] ?? '')
      .map((cell) => cell + ' '.repeat(Math.max(0, width - widthOf(cell))))
      .join(' │ ')
      .trimEnd(),
  )
}
