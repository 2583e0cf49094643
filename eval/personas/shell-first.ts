import { inOrder, phrasedWith, type Persona } from './persona.ts'
import { shellTasks } from './shell-tasks.ts'

const phrasings = [
  'How do I {} on Linux?',
  'I want to {}. How does that work in the terminal?',
  'Bash: {}.',
  'What is the command to {}?',
  'I need to {}.',
  'On Ubuntu, how can I {}?',
  'How would you {} from the command line?',
  'Help me {} in a shell.',
  'Which command do I use to {}?',
  'Please show me how to {} with bash.',
]

/** An opening fence, its language if any, and a first line that is not empty. */
const commandFirst = /^(?:`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*\n\s*[^\s`~]/

const fence = /^[ \t]*(?:`{3,}|~{3,})/m

function nearness(reply: string): number {
  if (commandFirst.test(reply)) return 1
  if (fence.test(reply)) return 0.5
  return /`[^`\n]+`/.test(reply) ? 0.25 : 0
}

const details = new Map([
  [1, 'command first'],
  [0.5, 'a block, but not first'],
  [0.25, 'a command in the text'],
  [0, 'no block'],
])

/** Asks for a shell command; wants the command in a code block before any word. */
export const shellFirst: Persona = {
  name: 'shell-first',
  wish: 'a shell command in a code block before anything else',
  hint: 'Start with the command in a code block, then explain.',
  requests: (seed) => inOrder({ seed, number: 5 }, shellTasks, phrasedWith(phrasings)),
  check(reply) {
    const score = nearness(reply.trimStart())
    return { satisfied: score === 1, score, detail: details.get(score) ?? '' }
  },
  expresses(hint) {
    const aboutCommand = /\b(?:commands?|code|code ?blocks?|fences?)\b/i.test(hint)
    const aboutOrder =
      /\b(?:first|start(?:s|ing)?|begin(?:s|ning)?|before|top|open(?:s|ing)?|lead|straight|only|just)\b/i.test(
        hint,
      )
    return aboutCommand && aboutOrder
  },
  complaints: {
    open: [
      'Please give me the command first, in a code block.',
      'Start with the command in a code block, then explain.',
      'No, command first, please. Put it in a code block.',
      'I only look at the first line. Put the command in a code block at the top.',
      'Too much talk. Start with a code block that has the command.',
      'Please begin with the command in a code block.',
      'The command should come first, in a code block.',
      'Show me the command first, in a code block, and explain afterwards.',
      "Don't explain before the command. Start with the code block.",
      'I want the command first. Use a code block for it.',
      'Put the command in a code block before any explanation.',
      'Not like this. Open with the command in a code block.',
      'Please write the code block with the command first and the text after it.',
      'I asked for a command. Start with it, in a code block.',
      'Always start with the command in a code block, please.',
      'Can you put the command first, in a code block?',
    ],
    heldOut: [
      'I am in a hurry: command first, in a code block, words later.',
      'I had to scroll to find the command. Please start with it in a code block.',
      'Code block first, please, then the explanation of the command.',
      'I just want to copy and paste. Begin with the command in a code block.',
      'Explanations after, please. The first thing should be a code block with the command.',
      'Put the command at the very top, in a code block of its own.',
      'Please lead with the command in a code block.',
      'Before anything else I need the command, in a code block.',
    ],
  },
}
