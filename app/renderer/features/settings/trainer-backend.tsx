import { useEffect, useState } from 'react'
import type { TrainerBackend } from '../../../shared/contract/trainer.ts'
import { errorText, toClientError } from '../../rpc/errors.ts'
import { useStores } from '../../stores/hooks.ts'
import type { Loadable } from '../../stores/resource.ts'
import { useMessages, type Messages } from '../../ui/messages/index.ts'
import { Fact } from './fact.tsx'

/** What training runs on; asked for here alone, since looking may compile kernels. */
export function TrainerBackendFact() {
  const messages = useMessages()
  const { host } = useStores()
  const [data, setData] = useState<Loadable<TrainerBackend>>({ status: 'loading' })
  useEffect(() => {
    let isShown = true
    const show = (next: Loadable<TrainerBackend>): void => {
      if (isShown) setData(next)
    }
    host.system.trainer().then(
      (value) => show({ status: 'ready', value }),
      (thrown: unknown) => show({ status: 'failed', error: toClientError(thrown) }),
    )
    return () => {
      isShown = false
    }
  }, [host])
  const { settings: words } = messages
  if (data.status === 'loading') {
    return <Fact name={words.trainerKernels} value={words.lookingForKernels} />
  }
  if (data.status === 'failed') {
    const { sentence, fact } = errorText(data.error, messages)
    return <Fact name={words.trainerKernels} value={[sentence, fact].join(' ')} isBad />
  }
  return <Fact name={words.trainerKernels} value={backendText(data.value, words)} />
}

export function backendText(
  { device, kind, gpuReason, kernels, reason, slowdown }: TrainerBackend,
  words: Messages['settings'],
): string {
  if (kind !== 'cpu') return words.gpu(device, kind)
  const gpu = gpuReason === null ? '' : ` ${words.noGpu(gpuReason)}`
  if (kernels !== null) return words.ownKernels(kernels) + gpu
  const loss =
    slowdown === null
      ? words.slowerUnknown
      : slowdown.low === slowdown.high
        ? words.slower(String(slowdown.high))
        : words.slowerBetween(String(slowdown.low), String(slowdown.high))
  return `${words.ggmlAlone(reason ?? '–')} ${loss}${gpu}`
}
