import { describe, expect, it } from 'vitest'
import { sharesNewFacts } from './revision.ts'

describe('sharesNewFacts', () => {
  it('sees a number that the correction brought in', () => {
    expect(sharesNewFacts('What is 7 times 8?', 'No, it is 56.', 'Right, 7 times 8 is 56.')).toBe(
      true,
    )
  })

  it('sees a name that the correction brought in', () => {
    expect(
      sharesNewFacts(
        'What is the capital of Australia?',
        'no, it is Canberra',
        'The capital is Canberra.',
      ),
    ).toBe(true)
  })

  it('lets a correction of form pass', () => {
    expect(
      sharesNewFacts(
        'Explain osmosis.',
        'Too long. At most 40 words please.',
        'Water moves through a membrane.',
      ),
    ).toBe(false)
  })

  it('does not count what the request already named', () => {
    expect(
      sharesNewFacts('Tell me about Rome.', 'shorter, and about Rome only', 'Rome is a city.'),
    ).toBe(false)
  })
})
