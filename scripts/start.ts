// `npm start`: fetches the model, builds the interface, starts Hone and opens its window.
import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { userInfo } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { dataFolder, defaultModel, modelsFolder } from '../app/main/models/index.ts'
import { toAppError } from '../app/shared/errors.ts'
import { appWindowArguments, findBrowser } from './launcher/browser.ts'
import { Children, waitUntilReady } from './launcher/children.ts'
import { findElectron } from './launcher/electron.ts'
import { buildRendererIfStale } from './launcher/renderer-build.ts'
import { obtainWithProgress } from './support/model-progress.ts'
import { runCommand } from './support/command.ts'
import { toolArguments } from './support/tools.ts'

interface Options {
  readonly open: boolean
  readonly port?: number
  readonly dataDir?: string
  readonly model?: string
  readonly demo: boolean
}

// Decoding, files and koffi share libuv's threads; its usual 4 let file access wait for seconds.
const hostEnvironment = { UV_THREADPOOL_SIZE: '12' }

const options = new Command('npm start --')
  .option('--no-open', 'do not open a window; only print the address')
  .option('--port <number>', 'the port of the local page (0 = any free one)', readPort)
  .option('--data-dir <dir>', 'the folder that keeps everything')
  .option('--model <file>', 'a GGUF file to use instead of the default model')
  .option('--demo', 'let a simulated user chat, so that curves move within minutes', false)
  .parse()
  .opts<Options>()

const children = new Children()
const stopping = new AbortController()
let exitCode = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)

try {
  await main()
} catch (error) {
  const failure = toAppError(error)
  if (!stopping.signal.aborted) {
    exitCode = 1
    console.error(failure.message)
  }
} finally {
  await children.stop()
  process.exitCode = exitCode
}

async function main(): Promise<void> {
  const dataDir = dataFolder(options.dataDir)
  const localFile = options.model ?? process.env['HONE_MODEL'] ?? ''
  const model = await obtainWithProgress({
    model: defaultModel,
    modelsDir: modelsFolder(dataDir),
    signal: stopping.signal,
    ...(localFile === '' ? {} : { localFile }),
  })
  const hostArguments = ['--data-dir', dataDir, '--model', model.path, ...portArguments()]
  const electron = options.open ? await electronProgram() : null
  stopping.signal.throwIfAborted()
  if (electron !== null) await runDesktop(electron, hostArguments)
  else await runHost(dataDir, hostArguments)
}

async function electronProgram(): Promise<string | null> {
  const say = console.error
  return findElectron({ root: process.cwd(), environment: process.env, say })
}

async function runDesktop(electron: string, hostArguments: readonly string[]): Promise<void> {
  console.error('Building …')
  const built = await runCommand(process.execPath, toolArguments('electron-vite', ['build']))
  if (built.code !== 0) throw new Error(`the build failed:\n${built.output}`)
  stopping.signal.throwIfAborted()
  const app = children.start(electron, ['.', ...hostArguments], hostEnvironment)
  app.stdout?.pipe(process.stdout)
  exitCode = await children.ended(app)
}

async function runHost(dataDir: string, hostArguments: readonly string[]): Promise<void> {
  console.error('Preparing the interface …')
  await buildRendererIfStale(process.cwd())
  stopping.signal.throwIfAborted()
  // A start token works once; the simulated user needs one beside the window's.
  const demoToken = randomBytes(24).toString('base64url')
  const host = children.start(process.execPath, ['app/main/host.ts', ...hostArguments], {
    ...hostEnvironment,
    ...(options.demo ? { HONE_START_TOKENS: demoToken } : {}),
  })
  const url = await waitUntilReady(host)
  if (options.open) openWindow(url, dataDir)
  if (options.demo) {
    const demoUrl = new URL(`/?token=${demoToken}`, url).href
    const demo = children.start(process.execPath, ['eval/demo.ts', '--url', demoUrl])
    demo.stdout?.pipe(process.stdout)
  }
  const code = await children.ended(host)
  if (!stopping.signal.aborted) exitCode = code
}

/** Opens the app's window; without a browser the address on the terminal is the way in. */
function openWindow(url: string, dataDir: string): void {
  const choice = findBrowser({
    platform: process.platform,
    environment: process.env,
    isRoot: process.platform !== 'win32' && userInfo().uid === 0,
  })
  if (choice.kind === 'none') {
    console.error(`Open the address above in a browser (${choice.reason}).`)
    return
  }
  const browser = spawn(choice.program, appWindowArguments(url, dataDir), { stdio: 'ignore' })
  browser.on('error', (error) => {
    console.error(`${choice.program} did not start (${error.message}); open the address above.`)
  })
  stopping.signal.addEventListener('abort', () => browser.kill())
  browser.unref()
}

function onSignal(): void {
  if (stopping.signal.aborted) {
    children.killNow()
    return
  }
  stopping.abort()
  void children.stop()
}

function portArguments(): string[] {
  return options.port === undefined ? [] : ['--port', String(options.port)]
}

function readPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new InvalidArgumentError('expected a whole number from 0 to 65535')
}
