// What kind of request a text is: the leading verb or question form, in English and Chinese. Two requests of a kind
// share it ("Explain osmosis." ~ "What is inflation?"), whatever they are about.
import { normalise, similarity, typedSentences, withoutMiddle } from '../signals/index.ts'

/** Where no kind is recognised, texts must be this alike. */
const unknownKindSimilarity = 0.5
/** Nearly the same words are the same kind whatever the verbs say. */
const sameTextSimilarity = 0.85

interface KindPattern {
  readonly kind: string
  readonly pattern: RegExp
  /** The kind alone is too wide: an e-mail is not a poem. */
  readonly withObject?: boolean
}

// Order matters: "explain why" asks why, "how many" solves, "how do I" asks for a way.
const kinds: readonly KindPattern[] = [
  {
    kind: 'solve',
    pattern:
      /^(?:how (?:many|much|long|far|old|fast|tall|heavy)|solve|calculate|compute|evaluate|work out|figure out|simplify|factor|integrate|differentiate|find (?:the|all|x|how|out how)|what(?:'s| is) (?:the )?(?:sum|product|difference(?! between)|total|average|area|volume|perimeter|value|probability|derivative|integral|\d))/iu,
  },
  {
    kind: 'grade',
    pattern:
      /^(?:grade|mark|score|rate|assess|evaluate|correct|check) (?:this|the|my|a|an|his|her|their|these|each|[\p{L}]+'s)\b|^give (?:a|an|this|the|my|feedback|comments)[\w ']{0,30}\b(?:grade|feedback|comments?|score|mark)/iu,
  },
  {
    kind: 'comment',
    pattern:
      /^(?:comment|give (?:me |him |her |them |the [a-z]+ )?(?:a )?(?:feedback|comments?)|write (?:a |some )?(?:comments?|feedback)|respond to (?:this|the|my) (?:student|pupil|homework|essay|work))/iu,
  },
  {
    kind: 'shell',
    pattern:
      /^(?:give|show|tell|write|what(?:'s| is)) (?:me )?(?:a|an|the) (?:[\w-]+ ){0,3}(?:command|one-liner|shell script|bash script|terminal command)|^(?:how (?:do|can|would|to|should)\b.{0,80}\b(?:linux|bash|shell|terminal|command line|ubuntu|git|grep|find|tar|ssh|chmod)\b)/iu,
  },
  { kind: 'why', pattern: /^(?:why|explain why|tell me why|how come)\b/iu },
  {
    kind: 'howto',
    pattern:
      /^(?:how (?:do|can|should|would|could|to|does one|might)\b|explain how to|tell me how to|show me how to|what(?:'s| is) (?:the )?(?:best|easiest|right|proper|correct) way)/iu,
  },
  {
    kind: 'compare',
    pattern:
      /^(?:compare|contrast|what(?:'s| is| are) the differences?|difference between|which is (?:better|faster|cheaper))/iu,
  },
  {
    kind: 'explain',
    pattern:
      /^(?:explain|describe|define|tell me (?:about|what|how)|what (?:is|are|was|were|does|do|'s)\b|what's|whats|meaning of|how (?:does|do|did|is|are)\b|teach me|introduce)/iu,
  },
  {
    kind: 'translate',
    pattern: /^translate|^(?:how (?:do|would) you say)|^put (?:this|it) into [a-z]+/iu,
  },
  {
    kind: 'summarise',
    pattern:
      /^(?:summari[sz]e|sum up|give (?:me )?(?:a |an |the )?(?:[\w-]+ )?summary|condense|tl;?dr|shorten)/iu,
  },
  {
    kind: 'rewrite',
    pattern: /^(?:rewrite|rephrase|paraphrase|reword|proofread|polish|improve|edit)\b/iu,
  },
  {
    kind: 'fix',
    pattern:
      /^(?:fix|debug|repair|refactor|correct|why (?:does|is) my code|what(?:'s| is) wrong with)/iu,
  },
  {
    kind: 'suggest',
    pattern:
      /^(?:suggest|recommend|propose|brainstorm|plan|what should i|give (?:me )?(?:some |a few |\w+ )?(?:ideas|suggestions|tips|advice)|any (?:ideas|tips))/iu,
  },
  {
    kind: 'list',
    pattern:
      /^(?:list|name|enumerate|give (?:me )?(?:some |a few |a list|\w+ )?(?:examples|reasons|names|synonyms))/iu,
  },
  {
    kind: 'code',
    pattern:
      /^(?:implement|code|program|write (?:me )?(?:a|an|some|the) (?:[\w+#-]+ ){0,3}(?:function|program|script|class|code|query|regex|test|tests))\b/iu,
  },
  { kind: 'write', pattern: /^(?:write|draft|compose|create|generate|make)\b/iu, withObject: true },
  { kind: 'fact', pattern: /^(?:who|when|where|which|whose|whom|in which|in what)\b/iu },
  {
    kind: 'yes-no',
    pattern: /^(?:is|are|was|were|do|does|did|can|could|should|will|would|has|have) (?!you\b)/iu,
  },
  { kind: 'grade', pattern: /^(?:批改|评分|打分|给.{0,12}(?:打分|评分)|评阅)/u },
  {
    kind: 'comment',
    pattern: /^(?:点评|评价|写(?:一?[段条个句])?评语|给.{0,16}(?:评语|评价|点评|反馈))/u,
  },
  {
    kind: 'solve',
    pattern:
      /^(?:计算|求|解(?:方程|题|下|一下)|算(?:一?下|出)|化简)|(?:多少|几[个只本元天人岁米次])[^。]{0,12}[？?]?$/u,
  },
  {
    kind: 'shell',
    pattern:
      /^.{0,30}(?:命令行?|终端|shell|bash).{0,12}(?:怎么|如何|是什么|写|给)|^(?:给|写|用).{0,16}(?:命令|shell|bash)/iu,
  },
  {
    kind: 'translate',
    pattern: /^(?:翻译|把.{0,400}(?:翻译|译)(?:成|为))|用[\p{L}]{1,3}[文语]怎么说/u,
  },
  { kind: 'summarise', pattern: /^(?:总结|概括|归纳|概述|缩写|提炼)/u },
  { kind: 'rewrite', pattern: /^(?:改写|润色|重写|修改|校对)/u },
  { kind: 'fix', pattern: /^(?:修复|调试|改正|纠正)/u },
  { kind: 'compare', pattern: /^(?:比较|对比)|有(?:什么|何|哪些)?(?:区别|不同|差别)/u },
  { kind: 'suggest', pattern: /^(?:推荐|建议|给.{0,8}(?:建议|推荐|主意)|出个主意)/u },
  { kind: 'list', pattern: /^(?:列出|列举|举.{0,4}例|说出.{0,6}个)/u },
  { kind: 'code', pattern: /^(?:实现|编写|写一?[个段].{0,12}(?:函数|程序|脚本|代码|类|正则))/u },
  { kind: 'write', pattern: /^(?:写|起草|撰写|创作|生成|拟)/u, withObject: true },
  { kind: 'why', pattern: /^(?:为什么|为何|解释一?下?为什么)|为什么[^。]{0,30}[？?]?$/u },
  { kind: 'howto', pattern: /^(?:怎么|怎样|如何|教我)|(?:怎么办|怎么做|如何做|怎么弄)[？?]?$/u },
  {
    kind: 'explain',
    pattern:
      /^(?:解释|说明|介绍|讲(?:讲|一?下|解)|描述|定义|什么是|什么叫|告诉我|科普)|(?:是什么|什么意思|指什么|的含义|的定义|的原理)[^。]{0,8}[？?。]?$/u,
  },
  {
    kind: 'fact',
    pattern: /^(?:谁|哪|何时|什么时候)|(?:是谁|在哪里?|哪一年|什么时候)[^。]{0,8}[？?]?$/u,
  },
]

const lead =
  /^(?:(?:hi|hello|hey|ok|okay|so|now|well|please|kindly|thanks|good (?:morning|evening)|could you|can you|would you|will you|i(?:'d| would) like you to|i (?:want|need) you to|help me(?: to)?|i need (?:help|to know)|let's|next|then|also|and|quick question|my question is|tell me(?=,))\b[\s,.!:;-]*|(?:你好|您好|请问|请你?|麻烦你?|帮我|帮忙|能不能|能否|可以|可不可以|我想(?:知道|问)?(?:一下)?|我需要你|给我|那|那么|现在|接下来)[\s，,。：:]*)/iu
const maxLeads = 6
/** The instruction stands at the beginning or the end of a long request. */
const edgeSentences = 3

/** Null where no form is recognised. */
export function requestKind(request: string): string | null {
  const sentences = typedSentences(withoutMiddle(request)).map(({ text }) => withoutLead(text))
  const first = sentences[0] ?? withoutLead(request)
  const edges = [
    first,
    ...sentences.slice(-edgeSentences).reverse(),
    ...sentences.slice(1, edgeSentences),
  ]
  for (const sentence of edges) {
    const kind = kindOf(sentence)
    if (kind !== null) return kind
  }
  return null
}

function withoutLead(sentence: string): string {
  let text = sentence.replace(/[‘’]/gu, "'").trim()
  for (let count = 0; count < maxLeads; count += 1) {
    const next = text.replace(lead, '').trimStart()
    if (next === text || next === '') break
    text = next
  }
  return text
}

function kindOf(sentence: string): string | null {
  for (const { kind, pattern, withObject } of kinds) {
    if (!pattern.test(sentence)) continue
    return withObject === true ? `${kind} ${objectOf(sentence)}` : kind
  }
  return null
}

const modifiers =
  /^(?:a|an|the|me|us|my|our|some|another|new|short|long|brief|quick|nice|good|polite|formal|informal|friendly|small|simple|funny|\d+|one|two|three|four|five)$/u
const forms =
  /邮件|信|诗|故事|作文|文章|报告|评语|通知|演讲稿?|简历|广告|标语|总结|日记|对联|句子|祝福|歌词|剧本|文案|请假条|段落|博客/u

/** The first noun after the verb and its modifiers. */
function objectOf(sentence: string): string {
  const chinese = forms.exec(sentence)
  if (chinese !== null) return chinese[0]
  const words = normalise(sentence).split(' ').slice(1)
  const noun = words.find((word) => !modifiers.test(word)) ?? ''
  return noun.replace(/^emails?$|^e$/u, 'mail').replace(/(?<=\p{L}{3})s$/u, '')
}

export function sameKindOfRequest(a: string, b: string): boolean {
  const [left, right] = [requestKind(a), requestKind(b)]
  if (left !== null && left === right) return true
  const likeness = similarity(withoutMiddle(a), withoutMiddle(b))
  return left === null || right === null
    ? likeness > unknownKindSimilarity
    : likeness > sameTextSimilarity
}
