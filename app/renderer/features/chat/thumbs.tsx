import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { useState } from 'react'
import type { TurnSummary } from '../../../shared/contract/app.ts'
import { useStores } from '../../stores/hooks.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { Popup } from '../../ui/popup.tsx'

type Thumb = 1 | -1

/** One click counts; the words are optional. A second click takes it back. */
export function Thumbs({ turn }: { turn: TurnSummary }) {
  const { host, attempt, conversation } = useStores()
  const [asking, setAsking] = useState<Thumb | null>(null)
  const give = async (value: Thumb | 0, text = ''): Promise<boolean> => {
    const isSaved = await attempt(() => host.feedback.thumb({ turnId: turn.id, value, text }))
    await conversation.getState().refresh()
    return isSaved
  }
  const press = async (value: Thumb): Promise<void> => {
    if (turn.thumb === value) {
      setAsking(null)
      await give(0)
      return
    }
    setAsking(value)
    if (!(await give(value))) setAsking(null)
  }
  return (
    <>
      {([1, -1] as const).map((value) => (
        <ThumbButton
          key={value}
          value={value}
          isGiven={turn.thumb === value}
          isAsking={asking === value}
          onPress={() => void press(value)}
          onClose={() => setAsking(null)}
          onWords={(text) => give(value, text)}
        />
      ))}
    </>
  )
}

interface ThumbButtonProps {
  value: Thumb
  isGiven: boolean
  isAsking: boolean
  onPress: () => void
  onClose: () => void
  onWords: (text: string) => Promise<boolean>
}

function ThumbButton({ value, isGiven, isAsking, onPress, onClose, onWords }: ThumbButtonProps) {
  const { thumbs } = useMessages()
  const [words, setWords] = useState('')
  const isGood = value === 1
  const question = isGood ? thumbs.goodWords : thumbs.badWords
  const send = async (): Promise<void> => {
    if (words.trim() === '' || (await onWords(words.trim()))) {
      setWords('')
      onClose()
    }
  }
  const tone = isGood ? 'good' : 'bad'
  return (
    <Popup
      isAnchor
      title={question}
      open={isAsking}
      onOpenChange={(open) => !open && onClose()}
      trigger={
        <span>
          <IconButton
            label={isGood ? thumbs.good : thumbs.bad}
            pressed={isGiven}
            tone={isGiven ? tone : 'plain'}
            onClick={onPress}
            className={isGiven ? '[&_svg]:fill-current' : ''}
          >
            {isGood ? <ThumbsUp /> : <ThumbsDown />}
          </IconButton>
        </span>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <label className="font-semibold">
          {question}
          <textarea
            value={words}
            rows={3}
            maxLength={2000}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
              event.preventDefault()
              void send()
            }}
            className="field mt-2 font-normal"
          />
        </label>
        <div className="mt-2 flex items-center justify-between gap-3">
          <p className="text-tiny text-ink-faint">{thumbs.optional}</p>
          <Button type="submit" look="primary" disabled={words.trim() === ''}>
            {thumbs.send}
          </Button>
        </div>
      </form>
    </Popup>
  )
}
