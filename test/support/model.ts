import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Where tests find the default model, or null when neither HONE_MODEL nor the cache has it. */
export function defaultModelPath(): string | null {
  return modelPath('HONE_MODEL', 'SmolLM2-135M-Instruct.Q4_1.gguf')
}

/** A model of another architecture, size and quantisation, with a head of its own; tests without it are skipped. */
export function secondModelPath(): string | null {
  return modelPath('HONE_SECOND_MODEL', 'Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf')
}

function modelPath(variable: string, fileName: string): string | null {
  const candidates = [process.env[variable], resolve('.cache/models', fileName)]
  return candidates.find((path) => path !== undefined && existsSync(path)) ?? null
}
