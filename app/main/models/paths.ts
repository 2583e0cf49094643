import { join, resolve } from 'node:path'
import envPaths from 'env-paths'

/** The folder that holds everything of Hone: the one asked for, else the system's place for data. */
export function dataFolder(asked?: string): string {
  return asked === undefined ? envPaths('hone', { suffix: '' }).data : resolve(asked)
}

export function modelsFolder(dataDir: string): string {
  return join(dataDir, 'models')
}
