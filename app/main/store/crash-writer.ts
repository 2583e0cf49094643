// The process that crash.test.ts kills: it writes without end and says on its output what was written.
import { writeSync } from 'node:fs'
import { openStore } from './index.ts'
import { newTurn, newVersion, proposal, userMessage } from './test-store.ts'

export type Acknowledged =
  | { readonly kind: 'message'; readonly id: string; readonly text: string }
  | { readonly kind: 'pair'; readonly ids: readonly [string, string] }
  | { readonly kind: 'hint'; readonly id: string; readonly turnId: string }
  | { readonly kind: 'version'; readonly version: number }

function acknowledge(what: Acknowledged): void {
  writeSync(1, `${JSON.stringify(what)}\n`)
}

export function writeForEver(dataDir: string): never {
  const store = openStore({ dataDir })
  store.closeInterrupted()
  const chat = store.createChat()
  for (let round = 0; ; round += 1) {
    const stream = {
      ...userMessage(chat.id, null, ''),
      role: 'assistant',
      status: 'streaming',
    } as const
    const reply = store.addMessage(stream)
    for (let text = 'token '; text.length < 40; text += `${text.length} `) {
      store.updateMessage(reply.id, { text })
      acknowledge({ kind: 'message', id: reply.id, text })
    }
    const ids = store.transaction((): [string, string] => [
      store.addMessage(userMessage(chat.id, null, `first of ${round}`)).id,
      store.addMessage(userMessage(chat.id, null, `second of ${round}`)).id,
    ])
    acknowledge({ kind: 'pair', ids })
    const turn = store.addTurn(newTurn(chat.id, { messageId: reply.id }))
    const [hint] = store.addHints(turn, [proposal('Be short.')])
    if (hint === undefined) throw new Error('no hint was added')
    store.updateHint(hint.id, { state: 'vetoed', decidedBy: 'user' })
    acknowledge({ kind: 'hint', id: hint.id, turnId: turn.id })
    const version = store.nextVersion()
    store.addVersion(newVersion(version, store.activeVersion()))
    store.activate(version)
    acknowledge({ kind: 'version', version })
  }
}
