import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { AppError } from '../shared/errors.ts'
import type { LearningDeps } from './learning/index.ts'

const neutralSchema = z.array(
  z.object({ prompt: z.string().min(1), reply: z.string().min(1), ended: z.boolean() }),
)
const kindsSchema = z.array(z.string().min(1))

/** The `resources` folder beside the sources, or beside the bundle. */
function resourcesDir(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const found = [join(here, '../../resources'), join(here, '../resources')].find(existsSync)
  if (found === undefined) throw new AppError('not-found', 'The resources folder is missing.')
  return found
}

/** Bundled texts of the learning loop, parsed. */
export function loadResources(): LearningDeps['resources'] {
  const dir = resourcesDir()
  const read = (name: string): unknown => JSON.parse(readFileSync(join(dir, name), 'utf8'))
  return {
    anchor: neutralSchema.parse(read('neutral/anchor.json')),
    gate: neutralSchema.parse(read('neutral/gate.json')),
    kinds: kindsSchema.parse(read('kinds.json')),
  }
}
