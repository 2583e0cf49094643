// The engine's door: opening ggml, models and adapters, reading GGUF files, the optimiser.
export { openEngine } from './engine.ts'
export { listDevices } from './device/list.ts'
export { createGradients } from './nn/adapter.ts'
export { readModelInfo } from './nn/config.ts'
export { readAdapter, writeAdapter, type AdapterFileOptions } from './adapter-file.ts'
export { adamw, gradientNorm, type AdamW, type AdamWOptions } from './optim/adamw.ts'
export { seededRandom, type RandomSource } from './random.ts'
export { findCompilers } from './kernels/compile.ts'
export { expectedSlowdown, type Slowdown } from './kernels/speed.ts'
export { parseGguf, readGgufArray } from './gguf/reader.ts'
export type { GgufArray, GgufFile, GgufTensorInfo, GgufValue } from './gguf/reader.ts'
export { fileSource, memorySource, type ByteSource } from './gguf/source.ts'
export type {
  Adapter,
  AdapterGradients,
  AdapterTensor,
  BackwardRequest,
  DeviceInfo,
  Engine,
  EngineModel,
  EngineOptions,
  GatheredLoss,
  KlBackwardRequest,
  KlRequest,
  ModelInfo,
  Projection,
  Score,
  ScoreRequest,
  SequenceRequest,
  YieldPoint,
} from './types.ts'
