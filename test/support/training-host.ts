// A host with nothing but a trainer, for tests that kill it: `node training-host.ts DATA_DIR MODEL look|once|for-ever`.
// Says on its output where the trainer runs, and `training` when native work is under way.
import { writeSync } from 'node:fs'
import { openLog } from '../../app/main/log.ts'
import { openStore } from '../../app/main/store/index.ts'
import { openTrainer } from '../../app/main/trainer-access.ts'
import { forkChild } from '../../app/main/workers/child.ts'
import { leaseWords } from '../../app/shared/contract/trainer.ts'
import { tinyTrainRequest } from './training-request.ts'

const [dataDir, modelPath, task] = process.argv.slice(2)
if (dataDir === undefined || modelPath === undefined) throw new Error('two paths are needed')

const say = (what: unknown): void => void writeSync(1, `${JSON.stringify(what)}\n`)

using store = openStore({ dataDir })
const lease = new SharedArrayBuffer(4 * leaseWords.length)
new Int32Array(lease)[leaseWords.threads] = 1
await using trainer = openTrainer({
  store,
  log: openLog(dataDir),
  dataDir,
  lease,
  spawn: forkChild,
  modelPath: () => modelPath,
})
say(trainer.place())
if (task !== 'look') {
  const client = await trainer.client()
  const config = { passes: task === 'for-ever' ? 1_000_000 : 1 }
  for await (const event of await client.train(tinyTrainRequest(dataDir, { config }))) {
    if (event.kind === 'step') say('training')
  }
}
