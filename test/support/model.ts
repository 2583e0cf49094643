import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

const fileName = 'SmolLM2-135M-Instruct.Q4_1.gguf'

/** Where tests find the default model, or null when neither HONE_MODEL nor the cache has it. */
export function defaultModelPath(): string | null {
  const candidates = [process.env['HONE_MODEL'], resolve('.cache/models', fileName)]
  return candidates.find((path) => path !== undefined && existsSync(path)) ?? null
}
