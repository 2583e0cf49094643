import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../app/shared/errors.ts'
import { runCommand } from '../support/command.ts'
import { toolArguments } from '../support/tools.ts'

export const rendererConfig = 'vite.renderer.config.ts'

const sources = ['app/renderer', 'app/shared', rendererConfig, 'package-lock.json']
const product = 'out/renderer/index.html'

/** Builds the interface when a source is newer than what was built; returns whether it did. */
export async function buildRendererIfStale(root: string): Promise<boolean> {
  if (!isStale(root)) return false
  const args = toolArguments('vite', ['build', '--config', rendererConfig, '--logLevel', 'warn'])
  const { code, output } = await runCommand(process.execPath, args)
  if (code === 0) return true
  throw new AppError('internal', `the interface could not be built:\n${output.trimEnd()}`)
}

/** True when nothing was built yet or a source file changed since. */
export function isStale(root: string): boolean {
  const built = join(root, product)
  if (!existsSync(built)) return true
  const builtAt = statSync(built).mtimeMs
  return sources.some((source) => newestChange(join(root, source)) > builtAt)
}

function newestChange(path: string): number {
  if (!existsSync(path)) return 0
  if (!statSync(path).isDirectory()) return statSync(path).mtimeMs
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
    .reduce((newest, changedAt) => Math.max(newest, changedAt), 0)
}
