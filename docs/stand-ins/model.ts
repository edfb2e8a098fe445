// What stands in for a model in the code of the documents, so that it runs without a provider.

/** Answers with a number, so that each answer tells which one it is. */
export async function askModel(request: {
  readonly system?: readonly unknown[]
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: unknown
}): Promise<{ role: 'assistant'; content: string }> {
  const questions = request.messages.filter(({ role }) => role === 'user').length
  return { role: 'assistant', content: `Answer to question ${questions}.` }
}

/** Writes a summary, as a small model would. */
export async function writeSummary(_request: {
  readonly system: string
  readonly prompt: string
}): Promise<string> {
  return 'Ana lives in Lisbon and has a cat called Mimi.'
}
