import { expect, it } from 'vitest'
import { listDevices, openEngine } from '../index.ts'

it('stays on the CPU unless a GPU is asked for', async () => {
  await using engine = await openEngine({ threads: 1 })
  expect(engine.backend).toMatchObject({ device: 'cpu', deviceReason: null })
})

it('a kind that this platform has not is named, and the CPU takes its place', async () => {
  const device = process.platform === 'darwin' ? 'cuda' : 'metal'
  await using engine = await openEngine({ threads: 1, device })
  expect(engine.backend.device).toBe('cpu')
  expect(engine.backend.deviceReason).toMatch(
    new RegExp(
      `^no GPU that ggml can use here: ${device}: node-llama-cpp's package .* not installed`,
    ),
  )
})

it('asking for any GPU gives one or says why not', async () => {
  await using engine = await openEngine({ threads: 1, device: 'auto' })
  const { device, deviceReason } = engine.backend
  if (device === 'cpu') expect(deviceReason).toMatch(/^no GPU that ggml can use here: ./)
  else expect(deviceReason).toBeNull()
})

it('lists the CPU and every kind of GPU, each usable or with a reason', async () => {
  const devices = await listDevices()
  expect(devices[0]).toMatchObject({ kind: 'cpu', trains: true, reason: null })
  for (const { name, trains, reason, memory } of devices) {
    expect(reason === null).toBe(trains)
    expect(name === null).toBe(memory === null)
    if (memory !== null) expect(memory.totalBytes).toBeGreaterThan(0)
  }
})
