import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { defaultSettings } from '../../../shared/domain/settings.ts'
import { trainingConfigSchema } from '../../../shared/domain/training.ts'
import { TrainingAdvanced } from './training-advanced.tsx'

it('offers every method, teacher, choice of hints, support and schedule', () => {
  const markup = renderToStaticMarkup(
    <TrainingAdvanced settings={defaultSettings} onChange={() => undefined} />,
  )
  const offered = [...markup.matchAll(/<option value="([^"]+)"/gu)].map(([, value]) => value)
  const { method, teacher, selection, support, schedule } = trainingConfigSchema.shape
  expect(offered).toEqual(
    [method, teacher, selection, support, schedule].flatMap((field) => field.options),
  )
  const chosen = [...markup.matchAll(/<option value="([^"]+)" selected/gu)].map(
    ([, value]) => value,
  )
  expect(chosen).toEqual(['hybrid', 'base', 'sequence', 'student', 'constant'])
})
