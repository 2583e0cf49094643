export { buildNextState, isSilent } from './next-state.ts'
export type { ExplicitSignal, FollowingMessage, NextStateInput } from './next-state.ts'
export { rules, ruleVotes, userTexts } from './rules.ts'
export type { Rule, RuleVerdict } from './rules.ts'
export { contentWords } from './content-words.ts'
export {
  hasCjk,
  maskForeign,
  maskedCharacter,
  normalise,
  similarity,
  typedSentences,
  withoutMiddle,
} from './text.ts'
export type { Sentence } from './text.ts'
