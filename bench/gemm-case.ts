// A process of its own that measures products: `node bench/gemm-case.ts '{"shapes": [[3072, 576]], …}'` prints one
// line of JSON.
import { z } from 'zod'
import { toAppError } from '../app/shared/errors.ts'
import { measureProducts } from './products.ts'

const count = z.number().int().positive()

const options = z.object({
  shapes: z.array(z.tuple([count, count])).min(1),
  tokens: count,
  threads: count,
  matrices: count,
  products: count,
  runs: count,
  usedOnly: z.boolean(),
})

try {
  const report = await measureProducts(options.parse(JSON.parse(process.argv[2] ?? '')))
  console.log(JSON.stringify(report))
} catch (error) {
  console.error(toAppError(error).message)
  process.exitCode = 1
}
