// A process of its own for each measurement, so that its peak memory is that of the case alone:
// `node bench/step-case.ts '{"modelPath": …}'` prints one line of JSON.
import { z } from 'zod'
import { toAppError } from '../app/shared/errors.ts'
import { measureSteps } from './step.ts'

const count = z.number().int().positive()

const options = z.object({
  modelPath: z.string(),
  precision: z.enum(['f32', 'native']),
  threads: count,
  tokens: count,
  response: count,
  samples: count,
  together: z.boolean(),
  steps: count,
})

try {
  const report = await measureSteps(options.parse(JSON.parse(process.argv[2] ?? '')))
  console.log(JSON.stringify(report))
} catch (error) {
  console.error(toAppError(error).message)
  process.exitCode = 1
}
