import { MessageChannel, Worker } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { expect, test } from 'vitest'
import { fakeJudge, type FakeJudgeAnswers } from '../../../test/support/judge-port.ts'
import { judgePortContract, type prmContract } from '../../shared/contract/prm.ts'
import { judgeExamples } from '../prm/index.ts'

type Client = ContractRouterClient<typeof prmContract>

/** Starts the real worker with a fake model behind its judge port; resolves when the thread has ended. */
async function withWorker(
  answers: FakeJudgeAnswers,
  use: (client: Client) => Promise<void>,
): Promise<number> {
  const prm = new MessageChannel()
  const judge = new MessageChannel()
  const fake = fakeJudge(answers)
  const contract = implement(judgePortContract)
  const router = contract.router({
    score: contract.score.handler(({ input }) => fake.port.score(input)),
    generate: contract.generate.handler(({ input }) => fake.port.generate(input)),
  })
  new RPCHandler(router).upgrade(judge.port1)
  judge.port1.start()
  const worker = new Worker(new URL('./prm.worker.ts', import.meta.url), {
    workerData: { port: prm.port2, judgePort: judge.port2 },
    transferList: [prm.port2, judge.port2],
  })
  const ended = new Promise<number>((resolve, reject) => {
    worker.once('exit', resolve)
    worker.once('error', reject)
  })
  const client: Client = createORPCClient(new RPCLink({ port: prm.port1 }))
  prm.port1.start()
  await use(client)
  prm.port1.close()
  const code = await ended
  judge.port1.close()
  return code
}

const correction = {
  request: 'Explain osmosis.',
  reply: 'Osmosis is the movement of water through a membrane. '.repeat(12),
  messages: [{ role: 'user' as const, text: 'Too long. At most 40 words please.' }],
  signals: [],
}

/** Knows the bundled examples by heart. */
function perfect(user: string): string {
  const example = judgeExamples().find(({ state }) =>
    [state.request, state.reply, state.messages[0]?.text ?? ''].every((text) =>
      text.split('\n').every((line) => user.includes(line)),
    ),
  )
  return `\\boxed{${example?.label ?? -1}}`
}

test('judges by rules in a thread of its own and ends when its port closes', async () => {
  const code = await withWorker({}, async (client) => {
    const options = { mode: 'off' as const, votes: 3, ruleWeights: {} }
    const verdict = await client.judge({ state: correction, options, notes: [] })
    expect(verdict.reward).toEqual({ kind: 'decided', value: -1, by: 'votes' })
    expect(verdict.votes.every(({ source }) => source === 'rule')).toBe(true)
    expect(verdict.hints.map(({ text }) => text)).toEqual(['At most 40 words.'])
  })
  expect(code).toBe(0)
})

test('a judge that passes its self-test votes m times when the host lets it', async () => {
  await withWorker({ generate: ({ user }) => perfect(user) }, async (client) => {
    const options = { mode: 'generate' as const, votes: 3, ruleWeights: {} }
    const result = await client.selfTest({ mode: 'generate' })
    expect(result.passed).toBe(true)
    expect(result.cases).toBeGreaterThanOrEqual(60)
    const after = await client.judge({ state: correction, options, notes: [] })
    expect(after.votes.filter(({ source }) => source === 'judge')).toHaveLength(3)
  })
})

test('a judge that always says the same fails its self-test', async () => {
  await withWorker({ score: () => [-1, -1, -1] }, async (client) => {
    const result = await client.selfTest({ mode: 'score' })
    expect(result).toMatchObject({ mode: 'score', passed: false, macroF1: 0 })
  })
})

test('a host that fails every question makes the self-test fail, not the thread', async () => {
  const code = await withWorker(
    {
      generate: () => {
        throw new Error('model unloaded')
      },
    },
    async (client) => {
      const result = await client.selfTest({ mode: 'generate' })
      expect(result.passed).toBe(false)
      expect(result.macroF1).toBe(0)
    },
  )
  expect(code).toBe(0)
})
