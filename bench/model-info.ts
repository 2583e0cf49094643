import { fileSource, parseGguf, readModelInfo, type ModelInfo } from '../app/main/engine/index.ts'

/** Facts from the header; `unsupported` where the engine cannot train the model. */
export function modelInfoOf(path: string): ModelInfo {
  using source = fileSource(path)
  return readModelInfo(parseGguf(source))
}
