// `node eval/judge/run.ts [--half dev|test] [--errors] [--json FILE]`: how well the rules alone read the hand-written replies.
// --errors lists what was judged wrongly, for the development half only.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measure, table, type Pair } from './measure.ts'
import { labelledReplies, type Half } from './replies.ts'
import { pairOf, verdictOfRules } from './rules.ts'

const { values } = parseArgs({
  options: {
    half: { type: 'string' },
    errors: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

const halves: readonly Half[] = (['dev', 'test'] as const).filter(
  (half) => values.half === undefined || values.half === half,
)
if (halves.length === 0) throw new RangeError(`expected --half dev or test, found ${values.half}`)

const results: Record<string, unknown> = {}
for (const half of halves) {
  const started = performance.now()
  const pairs: Pair[] = []
  for (const reply of labelledReplies(half)) {
    const verdict = await verdictOfRules(reply)
    const pair = pairOf(reply, verdict)
    pairs.push(pair)
    if (!values.errors || half !== 'dev' || (pair.said ?? 0) === pair.label) continue
    const votes = verdict.votes.map(({ name, raw }) => `${name} (${raw})`).join(', ')
    console.log(`${reply.id} ${reply.kind}: label ${pair.label}, said ${pair.said}; ${votes}`)
  }
  const measured = measure(pairs)
  const secondsPerTurn = (performance.now() - started) / 1_000 / pairs.length
  results[half] = { rules: { ...measured, secondsPerTurn, tokensPerTurn: 0 } }
  console.log(table(`${half}, rules alone`, measured))
  console.log(`  ${secondsPerTurn.toFixed(4)} s and 0 tokens a turn; undecided counts as 0\n`)
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
