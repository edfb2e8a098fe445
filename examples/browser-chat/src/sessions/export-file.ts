/** A conversation as a file that the browser saves. */

import type { Session } from 'turnlog'
import { type Sessions, titleOf } from './conversations.ts'

/** Offers the conversation as a file. */
export async function exportConversation(sessions: Sessions, session: Session): Promise<void> {
  const lines: string[] = []
  for await (const line of sessions.exportSession(session.id)) lines.push(line)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }))
  link.download = `${titleOf(session)
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, 40)}.jsonl`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
