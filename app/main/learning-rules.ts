// The pure rules of signals and prm in the shape in which the learning loop asks for them.
import { promptMessages, withHints } from './chat/index.ts'
import type { LearningRules } from './learning/index.ts'
import { inScope, mergeHint, parseCheck, satisfies } from './prm/index.ts'
import { buildNextState, similarity } from './signals/index.ts'

export const learningRules: LearningRules = {
  buildNextState,
  satisfies,
  checkOf: (text) => parseCheck(text),
  inScope,
  similarity,
  mergeHint,
  promptMessages,
  withHints,
}
