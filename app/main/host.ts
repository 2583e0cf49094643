// Plain Node entry: the host without Electron, served to a local browser window.
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { AppError, toAppError } from '../shared/errors.ts'
import { compose } from './compose.ts'
import { dataFolder } from './models/index.ts'
import { serveBrowser } from './rpc/browser.ts'

const defaultPort = 30080

interface HostArguments {
  readonly dataDir: string
  readonly port: number
  readonly modelPath: string | null
  readonly seed: number | null
}

function integer(name: string, text: string, most: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= 0 && value <= most) return value
  throw new AppError('invalid-input', `${name} must be a number from 0 to ${most}, found ${text}.`)
}

function readArguments(): HostArguments {
  const { values } = parseArgs({
    options: {
      'data-dir': { type: 'string' },
      port: { type: 'string' },
      model: { type: 'string' },
      // Makes sampling repeatable, for tests and benchmarks.
      seed: { type: 'string' },
      // The launcher opens windows; the host only accepts the switch.
      'no-open': { type: 'boolean' },
    },
  })
  const port = values.port === undefined ? defaultPort : integer('--port', values.port, 65_535)
  return {
    dataDir: dataFolder(values['data-dir']),
    port,
    modelPath: values.model === undefined ? null : resolve(values.model),
    seed: values.seed === undefined ? null : integer('--seed', values.seed, 2 ** 31 - 1),
  }
}

function rendererDir(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const candidates = [join(here, '../../out/renderer'), join(here, '../renderer')]
  const found = candidates.find((dir) => existsSync(join(dir, 'index.html')))
  if (found === undefined) {
    throw new AppError('not-found', 'The interface is not built. Run `npm run build` first.')
  }
  return found
}

async function main(): Promise<void> {
  const { dataDir, port, modelPath, seed } = readArguments()
  const app = await compose({ dataDir, modelPath, seed })
  const host = await serveBrowser({
    services: app.services,
    rendererDir: rendererDir(),
    port,
    tokens: (process.env['HONE_START_TOKENS'] ?? '').split(',').filter(Boolean),
  })
  let isClosing = false
  async function close(): Promise<void> {
    if (isClosing) return
    isClosing = true
    await host[Symbol.asyncDispose]()
    await app[Symbol.asyncDispose]()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => void close())
  }
  // The launcher's end is the host's end: its pipe closes even when it is killed.
  process.on('disconnect', () => void close())
  process.stdout.write(`Hone is ready at ${host.url}\n`)
}

main().catch((thrown: unknown) => {
  const error = toAppError(thrown)
  process.stderr.write(`${error.message}\n`)
  if (error.code === 'internal') process.stderr.write(`${String(error.stack)}\n`)
  process.exit(1)
})
