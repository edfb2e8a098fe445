/** What the page itself says to a model. */

/** Sent by “Continue” after an answer was stopped. */
export const CONTINUE = 'Continue where you stopped.'

export const INSTRUCTIONS =
  'You are a helpful assistant in a long-running chat. You see only its newest part. What was said ' +
  'earlier is still stored: search it with conversation_search, and other chats of this person with ' +
  'cross_session_search, before you say that you do not know. Answer briefly.'
