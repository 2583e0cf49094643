import { expect, test } from 'vitest'
import type { TurnSummary } from '../app/shared/contract/app.ts'
import type { Hint } from '../app/shared/domain/hint.ts'
import type { Vote } from '../app/shared/domain/turn.ts'
import { brief } from './personas/brief.ts'
import { createTally } from './tally.ts'
import type { Reaction, SessionResult } from './user.ts'

const hint = (text: string, change: Partial<Hint> = {}): Hint => ({
  id: text,
  turnId: 't',
  chatId: 'c',
  text,
  source: 'extracted',
  quote: null,
  state: 'approved',
  decidedBy: 'policy',
  quality: 1,
  qualityReasons: [],
  noteId: null,
  shownMs: 0,
  createdAt: 1,
  decidedAt: 1,
  ...change,
})

const turn = (value: -1 | 0 | 1 | null, hints: readonly Hint[] = []): TurnSummary => ({
  id: 't',
  version: 0,
  scaffoldNoteIds: [],
  droppedMessages: 0,
  finish: 'stop',
  timeToFirstTokenMs: 1,
  tokensPerSecond: 1,
  heldOut: false,
  reward: value === null ? { kind: 'undecided' } : { kind: 'decided', value, by: 'votes' },
  thumb: null,
  hints: [...hints],
  judgeError: null,
})

const session = (reactions: readonly Reaction[]): SessionResult => ({
  chatId: 'c',
  request: 'Explain osmosis.',
  firstReply: { satisfied: false, score: 0, detail: '' },
  lastReply: '',
  corrections: 1,
  reactions,
  satisfied: true,
  end: 'thanks',
})

test('a verdict agrees where it has the sign that the user meant; 0 and undecided do not', () => {
  const tally = createTally(brief)
  tally.addSession(session([-1, 1]), [turn(-1), turn(1)])
  tally.addSession(session([-1, -1, null]), [turn(0), turn(null)])
  expect(tally.judge().agreed).toEqual([2, 4])
})

test('another topic asks for no verdict', () => {
  const tally = createTally(brief)
  tally.addSession(session([-1, 0]), [turn(-1), turn(1)])
  expect(tally.judge().agreed).toEqual([1, 1])
})

test('hints are counted where they were proposed from the user’s words', () => {
  const tally = createTally(brief)
  tally.addSession(session([-1, 1]), [
    turn(-1, [
      hint('Use at most 40 words.'),
      hint('Read an essay.'),
      hint('Answer in 40 words.', { source: 'note' }),
      hint('Hm.', { state: 'vetoed', decidedBy: 'filter' }),
    ]),
    turn(1),
  ])
  expect(tally.hints()).toEqual([1, 2])
})

test('judging costs the time of all votes, and turns on which the model was asked are kept', () => {
  const vote = (source: Vote['source'], durationMs: number): Vote => ({
    ...{ id: 'v', turnId: 't', source, name: 'score-1', value: -1, weight: 1 },
    ...{ raw: '', durationMs, createdAt: 1 },
  })
  const tally = createTally(brief)
  const about = { request: 'a', reply: 'b', next: 'c' }
  tally.addVotes([vote('rule', 500)], about)
  tally.addVotes([vote('rule', 250), vote('judge', 250)], about)
  expect(tally.judge()).toMatchObject({ asked: 1, turns: 2, seconds: 1 })
  expect(tally.judged()).toEqual([{ ...about, asked: ['score-1'], raw: [''] }])
})
