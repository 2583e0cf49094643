// A simulated Brief user for a running app: chats at a human but brisk pace, so that curves move in minutes.
import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { isAppError, toAppError } from '../app/shared/errors.ts'
import { connect, type Connection } from './client.ts'
import { settle } from './learning.ts'
import { findPersona } from './personas/index.ts'
import { createRandom } from './random.ts'
import { countWords } from './personas/persona.ts'
import { playSession, type UserOptions, type UserTurn } from './user.ts'
import { openWatch } from './watch.ts'

interface Flags {
  url: string
  persona: string
  seed: string
}

/** Typing at 12 characters a second and reading at 15 words a second, both with an upper bound. */
async function actAsAPerson(turn: UserTurn, signal: AbortSignal): Promise<void> {
  const seconds =
    turn.kind === 'says'
      ? Math.min(4, 0.5 + turn.text.length / 12)
      : Math.min(4, 0.5 + countWords(turn.reply) / 15)
  await delay(seconds * 1000, undefined, { signal })
  console.log(
    turn.kind === 'says'
      ? `  says: ${turn.text}`
      : `  reads ${turn.check.detail}: ${turn.check.satisfied ? 'fine' : 'not what was wanted'}`,
  )
}

async function chat(connection: Connection, { persona: name, seed }: Flags): Promise<void> {
  await using watch = await openWatch(connection)
  const persona = findPersona(name)
  const user: UserOptions = {
    connection,
    watch,
    persona,
    random: createRandom(Number(seed)),
    wording: 'all',
    maxCorrections: 2,
    wrongSignals: 0,
    readsLastReply: true,
    onTurn: (turn) => actAsAPerson(turn, connection.closed),
  }
  console.log(`The simulated user wants: ${persona.wish}.`)
  const requests = persona.requests(Number(seed))
  for (let session = 0; !connection.closed.aborted; session++) {
    console.log(`Session ${session + 1}`)
    const { firstReply, chatId } = await playSession(
      user,
      requests[session % requests.length] ?? '',
    )
    const { rewards, hints } = await settle(connection.client, watch, chatId)
    const verdict = firstReply.satisfied ? 'was right' : 'was not right'
    console.log(
      `  the first reply ${verdict}; rewards ${rewards || 'none'}; ${hints} hints approved`,
    )
  }
}

async function main(): Promise<void> {
  const flags = new Command('demo')
    .description('Lets a simulated user chat with a running Hone.')
    .requiredOption('--url <url>', 'the start URL that Hone printed')
    .option('--persona <name>', 'who chats', 'brief')
    .option('--seed <n>', 'order of requests and words', '1')
    .parse()
    .opts<Flags>()
  await using connection = await connect(flags.url)
  const stop = () => void connection[Symbol.asyncDispose]()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, stop)
  try {
    await chat(connection, flags)
  } catch (error) {
    // When the app is closed in mid-sentence the demo has simply ended.
    if (!connection.closed.aborted) throw error
  }
  console.log('The simulated user has left.')
}

try {
  await main()
} catch (error) {
  const { code, message, stack } = toAppError(error)
  console.error(!isAppError(error) && code === 'internal' ? stack : `demo: ${message}`)
  process.exitCode = 1
}
