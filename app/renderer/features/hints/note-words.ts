import type { Note } from '../../../shared/domain/hint.ts'
import type { Messages } from '../../ui/messages/index.ts'

/** The rule that a program can check, in words. */
export function checkWords({ check }: Note, { hints }: Messages): string {
  const words = hints.checks
  if (check === null) return words.none
  switch (check.kind) {
    case 'max-words':
      return words.maxWords(check.words)
    case 'min-words':
      return words.minWords(check.words)
    case 'no-lists':
      return words.noLists
    case 'no-bold':
      return words.noBold
    case 'contains':
      return words.contains(check.phrase)
    case 'lacks':
      return words.lacks(check.phrase)
  }
}

const longestExample = 48

export function scopeWords({ scope }: Note, { hints }: Messages): string {
  if (scope.kind === 'everywhere') return hints.scope.everywhere
  if (scope.kind === 'chat') return hints.scope.chat
  const example = scope.requests.at(-1)
  if (example === undefined) return hints.scope.similarNone
  const isLong = example.length > longestExample
  return hints.scope.similar(
    isLong ? `${example.slice(0, longestExample - 1).trimEnd()}…` : example,
  )
}

export function stateWords(note: Note, { hints }: Messages): string {
  if (note.state !== 'learned') return hints.state[note.state]
  return note.learnedIn === null ? hints.state.learnedPlain : hints.state.learned(note.learnedIn)
}
