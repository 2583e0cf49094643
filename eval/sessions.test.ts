import { expect, test } from 'vitest'
import { connect } from './client.ts'
import { methodOf } from './methods.ts'
import { findPersona } from './personas/index.ts'
import { createProgress } from './progress.ts'
import { createRandom } from './random.ts'
import { openScriptedApp, type Script } from './scripted-app.ts'
import { playRounds, type Seated } from './sessions.ts'
import { createTally } from './tally.ts'
import { openWatch } from './watch.ts'

async function play(
  names: readonly string[],
  script: Script,
  limits: { readonly cap: number; readonly trainEvery: number },
) {
  await using app = await openScriptedApp(script)
  await using connection = await connect(app.startUrl)
  await using watch = await openWatch(connection)
  const lines: string[] = []
  const progress = createProgress(100, (line) => lines.push(line))
  const seats = names.map((name, index): Seated => {
    const persona = findPersona(name)
    return {
      user: {
        ...{ connection, watch, persona, random: createRandom(index) },
        ...{ wording: 'all', maxCorrections: 1, wrongSignals: 0, readsLastReply: false },
      },
      requests: persona.requests(1).slice(60),
      tally: createTally(persona),
    }
  })
  const result = await playRounds({ seats, method: methodOf('none'), progress, ...limits })
  return { result, seats, lines, log: [...app.log] }
}

const short = 'It is water that passes through a thin skin.'
const long = Array.from({ length: 60 }, () => 'word').join(' ')

test('a separate run ends with the third good first reply in a row', async () => {
  const { result, log } = await play(['brief'], { reply: () => short }, { cap: 24, trainEvery: 2 })
  expect(result.played[0]?.outcomes).toEqual([true, true, true])
  expect(log.filter((line) => line.startsWith('create'))).toHaveLength(3)
  expect(result.training.runs).toBe(0)
})

test('a run without success ends at the cap, with its nearness to the wish over the messages', async () => {
  const { result } = await play(['brief'], { reply: () => long }, { cap: 4, trainEvery: 2 })
  const [played] = result.played
  expect(played?.outcomes).toEqual([false, false, false, false])
  expect(played?.nearness[0]).toEqual({ interactions: 0, score: 40 / 60 })
  expect(played?.interactions).toBe(8)
})

test('in a joint round the TA grades what the Student got and the Teacher comments on what the TA wrote', async () => {
  const script: Script = {
    reply: (text) =>
      text.includes("Student's solution") ? 'Grade: B, with care.' : 'It makes 12.',
  }
  const { log } = await play(['student', 'ta', 'teacher'], script, { cap: 1, trainEvery: 1 })
  const first = (chat: number): string =>
    log.find((line) => line.startsWith(`say ${chat} `))?.replace(/^say \d+ /, '') ?? ''
  const question = first(1).split('\n\n').at(-1) ?? ''
  expect(question.length).toBeGreaterThan(20)
  expect(first(2)).toContain(question)
  expect(first(2)).toContain("Student's solution: It makes 12.")
  expect(first(3)).toContain("Pupil's solution: It makes 12.")
  expect(first(3)).toContain("TA's comments: It makes 12.")
})

test('in a joint run everybody goes on until the last one has arrived', async () => {
  const script: Script = { reply: (text) => (/well done/i.test(text) ? 'Well done!' : short) }
  const { result } = await play(['teacher', 'brief'], script, { cap: 4, trainEvery: 1 })
  expect(result.played.map(({ outcomes }) => outcomes.length)).toEqual([4, 4])
})
