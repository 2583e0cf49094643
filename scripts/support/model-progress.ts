import { styleText } from 'node:util'
import { Presets, SingleBar } from 'cli-progress'
import {
  inMegabytes,
  nameOf,
  obtainModel,
  type ObtainedModel,
  type ObtainEvent,
  type ObtainRequest,
} from '../../app/main/models/index.ts'

/** Obtains a model and tells on the terminal what happens: a bar where the size is known. */
export async function obtainWithProgress(request: ObtainRequest): Promise<ObtainedModel> {
  const bar = new SingleBar(
    { format: '{bar} {percentage}% of {size}, {eta_formatted} left', hideCursor: true },
    Presets.shades_classic,
  )
  const size = inMegabytes(request.model.sizeBytes)
  const onEvent = (event: ObtainEvent): void => {
    if (event.kind !== 'received') {
      bar.stop()
      console.error(sentence(event, request))
    } else if (bar.isActive) bar.update(event.receivedBytes)
    else bar.start(event.totalBytes, event.receivedBytes, { size })
  }
  try {
    return await obtainModel({ ...request, onEvent })
  } finally {
    bar.stop()
  }
}

function sentence(
  event: Exclude<ObtainEvent, { kind: 'received' }>,
  { model }: ObtainRequest,
): string {
  switch (event.kind) {
    case 'trying':
      return `Fetching ${model.name} (${inMegabytes(model.sizeBytes)}) from ${nameOf(event.source)} …`
    case 'failed':
      return styleText('yellow', `${nameOf(event.source)}: ${event.error.message}`)
    case 'damaged':
      return `${event.path} is damaged (${event.reason}); fetching it again.`
  }
}
