import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, posix, relative, sep } from 'node:path'
import { readImports, type ImportEdge } from './imports.ts'
import { layers, outside, pins, separateChildren, type Layer } from './table.ts'

export interface Violation {
  readonly file: string
  readonly line: number
  readonly message: string
}

const sourceFile = /\.(ts|tsx|mts|cts|js|mjs|cjs)$/
const testFile = /\.test\.tsx?$/
const roots = ['app', 'scripts', 'eval', 'bench', 'test', 'native']

/** Checks every source file below `root` against the table and returns what it finds, sorted. */
export function checkLayers(root: string): Violation[] {
  const files = roots.flatMap((folder) => listSources(join(root, folder)))
  return files
    .map((path) => relative(root, path).split(sep).join('/'))
    .sort()
    .flatMap((file) => checkFile(file, readFileSync(join(root, file), 'utf8')))
}

/** The violations of one file, given its path from the root with forward slashes. */
export function checkFile(file: string, text: string): Violation[] {
  const layer = layers.find((it) => isInside(file, it.place))
  if (layer === undefined) {
    return [{ file, line: 1, message: 'lies in no folder of the table (scripts/layers/table.ts)' }]
  }
  if (testFile.test(file) || isInside(file, 'test')) return []
  return readImports(file, text).flatMap((edge) => {
    const message = edge.specifier.startsWith('.')
      ? judgeFileArrow(file, layer, edge)
      : judgePackage(file, layer, edge)
    return message === null ? [] : [{ file, line: edge.line, message }]
  })
}

function judgeFileArrow(file: string, layer: Layer, edge: ImportEdge): string | null {
  const target = posix.normalize(posix.join(dirname(file), edge.specifier))
  const arrow = `${homeOf(file, layer)} may not import ${target}`
  if (file.startsWith('app/') && outside.some((place) => isInside(target, place))) return arrow
  if (layer.never?.some((place) => isInside(target, place))) return arrow
  if (isInside(target, homeOf(file, layer)) && !isOtherLayer(target, layer)) return null
  if (isInside(target, 'app/shared')) return null
  // prompts and word lists are data, not code
  if (isInside(target, 'resources') && target.endsWith('.json')) return null
  if (layer.values.some((place) => place === '*' || isInside(target, place))) return null
  const typesAllowed = layer.types?.some((place) => isInside(target, place)) ?? false
  if (typesAllowed && edge.typeOnly) return null
  return typesAllowed ? `${arrow}, only its types` : arrow
}

function judgePackage(file: string, layer: Layer, edge: ImportEdge): string | null {
  const name = packageName(edge.specifier)
  const scope = `${name.split('/')[0] ?? name}/*`
  const allowed = pins[name] ?? (name.startsWith('@') ? pins[scope] : undefined)
  if (allowed !== undefined && !allowed.some((place) => isInside(file, place))) {
    return `${name} belongs to ${allowed.join(', ')}`
  }
  const isNode = edge.specifier.startsWith('node:') || builtinModules.includes(edge.specifier)
  return isNode && !layer.node ? `${layer.place} may not import ${edge.specifier}` : null
}

/** The place whose inside a file may import freely. */
function homeOf(file: string, layer: Layer): string {
  if (!separateChildren.includes(layer.place)) return layer.place
  const rest = file.slice(layer.place.length + 1)
  const child = rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : ''
  return child === '' ? layer.place : `${layer.place}/${child}`
}

/** True when a more exact row than `layer` owns the target (host.ts against main/desktop). */
function isOtherLayer(target: string, layer: Layer): boolean {
  return layers.find((it) => isInside(target, it.place)) !== layer
}

function isInside(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`)
}

function packageName(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  const parts = specifier.split('/')
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

function listSources(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && sourceFile.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes(`${sep}node_modules${sep}`))
}
