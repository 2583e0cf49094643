// `npm run dev`: rebuilds the interface and restarts the host whenever a source file changes.
import { Children } from './launcher/children.ts'
import { buildRendererIfStale, rendererConfig } from './launcher/renderer-build.ts'
import { runCommand } from './support/command.ts'
import { toolArguments } from './support/tools.ts'

const modelsDir = '.cache/models'
const fetchArguments = ['scripts/fetch-model.ts', '--models-dir', modelsDir]
const fetched = await runCommand(process.execPath, fetchArguments, { live: true })
if (fetched.code !== 0) process.exit(fetched.code)
const { defaultModel } = await import('../app/main/models/index.ts')
const model = process.env['HONE_MODEL'] ?? `${modelsDir}/${defaultModel.fileName}`

await buildRendererIfStale(process.cwd())
const children = new Children()
const hostOptions = ['--data-dir', '.cache/dev', '--model', model, ...process.argv.slice(2)]
const programs = [
  toolArguments('vite', ['build', '--watch', '--config', rendererConfig]),
  ['--watch', 'app/main/host.ts', ...hostOptions],
]
for (const args of programs) {
  const child = children.start(process.execPath, args, { UV_THREADPOOL_SIZE: '12' })
  child.stdout?.pipe(process.stdout)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void children.stop())
}
