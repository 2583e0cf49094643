import { resolve } from 'node:path'

/** The programs of node_modules that the scripts start, each through this same Node. */
const entryPoints = {
  tsc: 'typescript/bin/tsc',
  eslint: 'eslint/bin/eslint.js',
  prettier: 'prettier/bin/prettier.cjs',
  vitest: 'vitest/vitest.mjs',
  vite: 'vite/bin/vite.js',
  'electron-vite': 'electron-vite/bin/electron-vite.js',
} as const

export type Tool = keyof typeof entryPoints

/** Arguments for `process.execPath` that start a tool; no shell, the same on every system. */
export function toolArguments(tool: Tool, args: readonly string[]): string[] {
  return [resolve('node_modules', entryPoints[tool]), ...args]
}
