// Entry of the trainer as a thread of the host: serves the trainer contract on one port, under the governor's lease. Leaves
// by itself when the port closes, after the running segment has ended and every native object is freed.
import { workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { runningMarker } from './running-marker.ts'
import { serveTrainer } from './serve-trainer.ts'

interface TrainerWorkerData {
  readonly port: MessagePort
  readonly lease: SharedArrayBuffer
  readonly markerPath: string
  readonly kernelCacheDir: string
}

const { port, lease, markerPath, kernelCacheDir } = workerData as TrainerWorkerData
const words = new Int32Array(lease)
const marker = runningMarker(markerPath)
const trainer = serveTrainer({ port, words, marker, kernelCacheDir })
port.once('close', () => void trainer[Symbol.asyncDispose]())
port.start()
