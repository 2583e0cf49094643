// Practice (DESIGN 7.1): the policy answers the user's own past first prompts with the note in context; the
// replies that satisfy the note become demonstrations for the prompt without it. Checkable notes only.
import { randomUUID } from 'node:crypto'
import type { Note } from '../../shared/domain/hint.ts'
import type { LearningDeps } from './ports.ts'
import { mayTeach } from './teaching.ts'

const tries = 6
const temperature = 0.8
const keptPerPrompt = 2
const promptsPerNote = 6
/** Practised replies a note needs before practice rests. */
const enough = 12
/** Character n-gram similarity over which two replies count as copies. */
const copyLimit = 0.8

interface PracticePrompt {
  readonly text: string
  readonly chatId: string
}

function practisedWith(deps: LearningDeps, noteId: string): number {
  return deps.store
    .samples(['ready', 'returned', 'used', 'retired'])
    .filter(({ sample }) => sample.origin === 'practice' && sample.noteIds.includes(noteId)).length
}

/** Notes that practice could serve now. */
export function practisableNotes(deps: LearningDeps): Note[] {
  return deps.store
    .notes()
    .filter((note) => note.state === 'prompt' && note.check !== null)
    .filter((note) => practisedWith(deps, note.id) < enough)
}

function doneKey(deps: LearningDeps, note: Note): string {
  const requests = note.scope.kind === 'similar' ? note.scope.requests.length : 0
  return `practised:${note.id}:${deps.store.activeVersion()}:${requests}`
}

/** Notes that idle time should be spent on: not yet practised with this version and these requests. */
export function notesForIdlePractice(deps: LearningDeps): Note[] {
  return practisableNotes(deps).filter((note) => deps.store.value(doneKey(deps, note)) !== true)
}

/** The user's own first prompts in the note's scope, newest first, never the held-out ones. */
function promptsFor(deps: LearningDeps, note: Note): PracticePrompt[] {
  const seen = new Set<string>()
  const prompts: PracticePrompt[] = []
  for (const turn of deps.store.recentTurns(1000).toReversed()) {
    const parentId = deps.store.message(turn.messageId)?.parentId ?? null
    const request = parentId === null ? null : deps.store.message(parentId)
    if (request === null || request.parentId !== null || seen.has(request.text)) continue
    seen.add(request.text)
    const isUsable = !turn.heldOut && mayTeach(deps.store, turn.chatId)
    if (!isUsable || !deps.rules.inScope(note, request.text, turn.chatId)) continue
    prompts.push({ text: request.text, chatId: turn.chatId })
    if (prompts.length === promptsPerNote) break
  }
  return prompts
}

async function practisePrompt(
  deps: LearningDeps,
  note: Note,
  about: { readonly prompt: PracticePrompt; readonly signal: AbortSignal },
): Promise<number> {
  const policy = deps.policy()
  const asked = { role: 'user', text: about.prompt.text, status: 'complete' } as const
  const bare = deps.rules.promptMessages([asked], deps.store.settings())
  const hinted = policy.render(deps.rules.withHints(bare, [note.text]), { reserve: 256 })
  const bareIds = [...policy.render(bare, { reserve: 256 }).ids]
  const kept: string[] = []
  for (let attempt = 0; attempt < tries && kept.length < keptPerPrompt; attempt += 1) {
    about.signal.throwIfAborted()
    const generation = await policy.generate({
      lane: 'practise',
      promptIds: hinted.ids,
      adapter: 'active',
      temperature,
      topP: 1,
      topK: 0,
      minP: 0,
      seed: 3000 + attempt,
      maxTokens: 256,
      signal: about.signal,
    })
    about.signal.throwIfAborted()
    const { text, finish } = generation
    if (finish !== 'stop' || text.trim() === '' || note.check === null) continue
    if (!deps.rules.satisfies(note.check, text)) continue
    if (kept.some((other) => deps.rules.similarity(other, text) > copyLimit)) continue
    kept.push(text)
    deps.store.addSample({
      id: `practice.${randomUUID()}`,
      kind: 'demonstration',
      origin: 'practice',
      turnId: null,
      chatId: about.prompt.chatId,
      promptIds: bareIds,
      responseIds: [...generation.ids],
      temperature: 1,
      samplerLogProbs: null,
      sampledPromptIds: null,
      version: generation.version,
      reward: null,
      rewardMask: null,
      hints: [],
      noteIds: [note.id],
      createdAt: deps.now(),
    })
  }
  return kept.length
}

/** Practises every checkable note that needs it; returns how many replies were kept. */
export async function practise(deps: LearningDeps, signal: AbortSignal): Promise<number> {
  let kept = 0
  for (const note of practisableNotes(deps)) {
    for (const prompt of promptsFor(deps, note)) {
      kept += await practisePrompt(deps, note, { prompt, signal })
    }
    deps.store.setValue(doneKey(deps, note), true)
  }
  return kept
}
