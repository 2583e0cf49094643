import { countWords, inOrder, phrasedWith, type Persona } from './persona.ts'
import { terms } from './terms.ts'

const maxWords = 40
/** Fewer words than this do not explain anything. */
const minWords = 5

const phrasings = [
  'What is {}?',
  'What exactly is {}?',
  'What is meant by {}?',
  'Can you tell me what {} is?',
  'Please tell me what {} is.',
  'I keep hearing about {}. What is it?',
  'I came across {} today. What is that?',
  'Somebody mentioned {}. What is that about?',
  'I do not know what {} is. Can you explain it?',
  'Please explain what {} is.',
  'How would you explain {}?',
  'Explain {}.',
]

/** Asks to have a term explained; wants at most 40 words. */
export const brief: Persona = {
  name: 'brief',
  wish: `explain a term in at most ${maxWords} words`,
  hint: `Answer in at most ${maxWords} words.`,
  requests: (seed) => inOrder({ seed, number: 1 }, terms, phrasedWith(phrasings)),
  check(reply) {
    const words = countWords(reply)
    const score = words < minWords ? 0 : Math.min(1, maxWords / words)
    return { satisfied: score === 1, score, detail: `${words} words` }
  },
  expresses(hint) {
    if (/\b(?:40|forty) words\b/i.test(hint)) {
      const asksForMore = /\bat least\b|\bmin(?:imum)?\b/i.test(hint)
      const more = /\b(?:more|longer) than (?:40|forty)\b/i.test(hint)
      return !asksForMore && (!more || /\b(?:no|not|never|nothing)\b|n't\b/i.test(hint))
    }
    return /\b(?:short(?:er|en)?|brief(?:er|ly)?|concise)\b/i.test(hint)
  },
  complaints: {
    open: [
      'Too long. Please answer in at most 40 words.',
      'No, that is far too long. Use at most 40 words.',
      'That is too much text. Keep it under 40 words, please.',
      "I don't want to read an essay. Use no more than 40 words.",
      'Please use at most 40 words.',
      'Shorter, please: 40 words at most.',
      'Way too long! I want no more than 40 words.',
      'Please keep your answer below 40 words.',
      'Not like this. Answer with 40 words or fewer.',
      "That's too wordy. Limit yourself to 40 words.",
      'I said short. Please write at most 40 words.',
      'Cut it down to 40 words at most.',
      'This is much longer than I need. Stay within 40 words.',
      'No. Please give me a short answer of at most 40 words.',
      'Too many words. Do not use more than 40 words.',
      'Sorry, but that is too long for me. Please use fewer than 40 words.',
    ],
    heldOut: [
      'Hmm, I got lost halfway through. Please say it in 40 words or less.',
      'You lost me, this goes on and on. Never use more than 40 words.',
      'My attention span is short: 40 words, not more, please.',
      'I only have a minute. Keep it to 40 words maximum.',
      "That's a whole page. I want a maximum of 40 words.",
      'Please be brief, at most forty words.',
      'I was hoping for something I can read at a glance. Use 40 words at most.',
      'Do not go over 40 words, please.',
    ],
  },
}
