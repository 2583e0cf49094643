import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../test/support/temporary-folder.ts'

// The launcher runs for real in an empty root whose host only writes down what it was given.
const politeHost = `
import { writeFileSync } from 'node:fs'
const given = { args: process.argv.slice(2), threads: process.env.UV_THREADPOOL_SIZE, pid: process.pid }
writeFileSync('host.json', JSON.stringify(given))
process.on('SIGTERM', () => { writeFileSync('ended', ''); process.exit(0) })
process.on('SIGINT', () => {})
setInterval(() => {}, 1000)
console.log('Hone is ready at http://127.0.0.1:1/?token=abc')
`
const brokenHost = "process.stderr.write('the port is busy\\n'); process.exit(1)"

const gguf = Buffer.concat([Buffer.from('GGUF\u0003\0\0\0\u0001'), Buffer.alloc(40)])

interface Started {
  readonly child: ChildProcess
  readonly output: () => string
  readonly ended: Promise<number | null>
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

function launch(root: string, host: string, args: readonly string[] = []): Started {
  write(join(root, 'model.gguf'), gguf)
  write(join(root, 'app/main/host.ts'), host)
  write(join(root, 'app/renderer/main.tsx'), '')
  utimesSync(join(root, 'app/renderer/main.tsx'), 1000, 1000)
  write(join(root, 'package.json'), '{ "type": "module" }')
  write(join(root, 'out/renderer/index.html'), '')
  const options = [
    '--no-open',
    '--data-dir',
    join(root, 'data'),
    '--model',
    join(root, 'model.gguf'),
  ]
  const child = spawn(process.execPath, [resolve('scripts/start.ts'), ...options, ...args], {
    cwd: root,
  })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const ended = new Promise<number | null>((done) => child.on('close', done))
  return { child, output: () => output, ended }
}

async function untilReady({ output, ended }: Started): Promise<void> {
  let isOver = false
  void ended.then(() => (isOver = true))
  while (!output().includes('Hone is ready at')) {
    if (isOver) throw new Error(`the launcher ended: ${output()}`)
    await new Promise((next) => setTimeout(next, 20))
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

test('the host gets the options, and its ready line is passed on', async () => {
  await using folder = await temporaryFolder()
  const started = launch(folder.path, politeHost, ['--port', '0'])
  await untilReady(started)
  started.child.kill('SIGTERM')
  expect(await started.ended).toBe(0)
  const given = JSON.parse(readFileSync(join(folder.path, 'host.json'), 'utf8')) as {
    args: string[]
    threads: string
  }
  const [data, model] = [join(folder.path, 'data'), join(folder.path, 'model.gguf')]
  expect(given.args).toEqual(['--data-dir', data, '--model', model, '--port', '0'])
  expect(given.threads).toBe('12')
  expect(started.output()).toContain('Hone is ready at http://127.0.0.1:1/?token=abc\n')
})

test.each(['SIGINT', 'SIGTERM'] as const)('after %s nothing is left running', async (signal) => {
  await using folder = await temporaryFolder()
  const started = launch(folder.path, politeHost)
  await untilReady(started)
  const { pid } = JSON.parse(readFileSync(join(folder.path, 'host.json'), 'utf8')) as {
    pid: number
  }
  expect(isRunning(pid)).toBe(true)
  started.child.kill(signal)
  await started.ended
  expect(existsSync(join(folder.path, 'ended'))).toBe(true)
  expect(isRunning(pid)).toBe(false)
})

test('a host that ignores the request to end is killed', async () => {
  await using folder = await temporaryFolder()
  const stubborn = politeHost.replace(
    "process.on('SIGTERM', () => { writeFileSync('ended', ''); process.exit(0) })",
    "process.on('SIGTERM', () => {})",
  )
  const started = launch(folder.path, stubborn)
  await untilReady(started)
  const { pid } = JSON.parse(readFileSync(join(folder.path, 'host.json'), 'utf8')) as {
    pid: number
  }
  started.child.kill('SIGTERM')
  await started.ended
  expect(isRunning(pid)).toBe(false)
})

test('a host that cannot start passes its reason and its failure on', async () => {
  await using folder = await temporaryFolder()
  const started = launch(folder.path, brokenHost)
  expect(await started.ended).toBe(1)
  expect(started.output()).toContain('the port is busy')
})

test('a file that is not a model is refused before anything starts', async () => {
  await using folder = await temporaryFolder()
  const notAModel = join(folder.path, 'letter.txt')
  write(notAModel, 'Dear reader, this is not a model at all.')
  const started = launch(folder.path, politeHost, ['--model', notAModel])
  expect(await started.ended).toBe(1)
  expect(started.output()).toContain('not a GGUF file')
  expect(existsSync(join(folder.path, 'host.json'))).toBe(false)
})

test.each(['seven', '-1', '70000', '1.5'])('the port %s is refused in words', async (port) => {
  await using folder = await temporaryFolder()
  const started = launch(folder.path, politeHost, [`--port=${port}`])
  expect(await started.ended).toBe(1)
  expect(started.output()).toContain('whole number from 0 to 65535')
})
