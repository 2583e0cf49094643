// What this machine has and what is missing, in lines for people: `npm run hone -- doctor`.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, statfs } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  expectedSlowdown,
  findCompilers,
  listDevices,
  openEngine,
  type Engine,
} from '../app/main/engine/index.ts'
import { dataFolder, defaultModel, inMegabytes, modelsFolder } from '../app/main/models/index.ts'
import { toAppError } from '../app/shared/errors.ts'
import { findBrowser } from './launcher/browser.ts'
import { installedElectron } from './launcher/electron.ts'

export type DoctorLine = readonly [name: string, value: string]

export async function doctorLines(dataDirOption: string | undefined): Promise<DoctorLine[]> {
  const dataDir = dataFolder(dataDirOption)
  const isThere = existsSync(dataDir)
  const model = join(modelsFolder(dataDir), defaultModel.fileName)
  const browser = findBrowser({
    platform: process.platform,
    environment: process.env,
    isRoot: process.platform !== 'win32' && userInfo().uid === 0,
  })
  const disk = await statfs(isThere ? dataDir : process.cwd())
  return [
    ['Node', process.versions.node],
    ['data folder', isThere ? dataDir : `${dataDir} (made at the first start)`],
    ['free disk', inMegabytes(disk.bavail * disk.bsize)],
    ['default model', existsSync(model) ? model : 'not here yet; `npm start` fetches it'],
    ['Electron', installedElectron(process.cwd()) ?? 'its program is not here'],
    ['browser', browser.kind === 'found' ? browser.program : browser.reason],
    ['interface', existsSync('out/renderer/index.html') ? 'built' : 'not built yet'],
    ['C compiler', await compilerWords()],
    ['GPU', await gpuWords()],
    ['training', await trainingWords(join(dataDir, 'kernels'))],
  ]
}

async function compilerWords(): Promise<string> {
  const [compiler] = await findCompilers()
  if (compiler === undefined) return 'none of cc, clang, gcc, zig is in the PATH'
  const command = [compiler.path, ...compiler.arguments].join(' ')
  const version = await promisify(execFile)(compiler.path, [
    ...compiler.arguments,
    '--version',
  ]).then(
    ({ stdout }) => stdout.split('\n')[0]?.trim() ?? '',
    (error: unknown) => `does not run: ${toAppError(error).message.split('\n')[0]}`,
  )
  return `${command} (${version})`
}

/** Training takes the first GPU that passes its test, as the settings have it. */
async function gpuWords(): Promise<string> {
  const gpus = (await listDevices()).filter(({ kind }) => kind !== 'cpu')
  const [usable] = gpus.filter(({ trains }) => trains)
  if (usable !== undefined) return `${usable.name} by ${usable.kind}; training uses it`
  if (gpus.length === 0) return `none that ggml knows on ${process.platform} ${process.arch}`
  return `none trains: ${gpus.map(({ kind, reason }) => `${kind}: ${reason}`).join('; ')}`
}

/** Opens the engine as the trainer does on the processor, so that what is said here is what will run. */
async function trainingWords(kernelCacheDir: string): Promise<string> {
  const before = await libraries(kernelCacheDir)
  const started = performance.now()
  try {
    await using engine = await openEngine({ threads: 1, precision: 'native', kernelCacheDir })
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const added = (await libraries(kernelCacheDir)).length - before.length
    const how =
      added > 0 ? `compiled now, in ${seconds} s` : `compiled before, open in ${seconds} s`
    return await backendWords(engine.backend, how)
  } catch (error) {
    return `not possible: ${toAppError(error).message}`
  }
}

async function backendWords(
  { name, kernels, kernelsReason }: Engine['backend'],
  how: string,
): Promise<string> {
  if (kernels !== null) return `Hone's own ${kernels} kernels on ${name} (${how})`
  const slowdown = await expectedSlowdown()
  const loss =
    slowdown === null
      ? 'how much slower that is has not been measured on such a processor'
      : `training takes about ${factorWords(slowdown)} times as long as with Hone's kernels`
  return `ggml alone on ${name}: ${kernelsReason}; ${loss}`
}

function factorWords({ low, high }: { readonly low: number; readonly high: number }): string {
  return low === high ? String(high) : `${low} to ${high}`
}

async function libraries(folder: string): Promise<string[]> {
  return existsSync(folder) ? await readdir(folder) : []
}
