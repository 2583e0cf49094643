import { memo, useMemo, useRef, useState, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { splitBlocks } from './blocks.ts'
import { CopyButton } from './copy-button.tsx'
import { useMessages } from './messages/index.ts'
import { Confirm } from './popup.tsx'

const plugins = [remarkGfm]
const allowedSchemes = /^(https?:|mailto:)/i

/** A link that asks first; an address of another kind is only text. */
function AskingLink({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  const messages = useMessages()
  const [isAsking, setAsking] = useState(false)
  if (href === undefined || !allowedSchemes.test(href)) return <span>{children}</span>
  return (
    <>
      <a
        href={href}
        rel="noopener noreferrer nofollow"
        onClick={(event) => {
          event.preventDefault()
          setAsking(true)
        }}
        onAuxClick={(event) => event.preventDefault()}
      >
        {children}
      </a>
      <Confirm
        open={isAsking}
        title={messages.links.title}
        text={
          <>
            <p>{messages.links.text}</p>
            <p className="mt-2 rounded-lg bg-code p-2 font-mono text-tiny break-all text-ink">
              {href}
            </p>
          </>
        }
        action={messages.links.open}
        onConfirm={() => window.open(href, '_blank', 'noopener,noreferrer')}
        onClose={() => setAsking(false)}
      />
    </>
  )
}

function CodeBlock({ children }: { children?: ReactNode }) {
  const messages = useMessages()
  const box = useRef<HTMLPreElement>(null)
  const [text, setText] = useState('')
  return (
    <div
      className="group/code relative mb-3"
      onPointerEnter={() => setText(box.current?.textContent ?? '')}
      onFocus={() => setText(box.current?.textContent ?? '')}
    >
      <pre
        ref={box}
        tabIndex={0}
        className="scroll-quiet overflow-x-auto rounded-lg border bg-code p-3 pr-10 font-mono text-ui"
      >
        {children}
      </pre>
      <div className="absolute top-1.5 right-1.5 opacity-70 transition-opacity group-hover/code:opacity-100 focus-within:opacity-100">
        <CopyButton text={text} label={messages.code.copy} />
      </div>
    </div>
  )
}

const components: Components = {
  a: ({ href, children }) => <AskingLink href={href}>{children}</AskingLink>,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  // A picture would load something from outside; its text says what it was.
  img: ({ alt, src }) => (
    <AskingLink href={typeof src === 'string' ? src : undefined}>{alt ?? ''}</AskingLink>
  ),
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <div>
      <ReactMarkdown remarkPlugins={plugins} components={components} skipHtml={false}>
        {text}
      </ReactMarkdown>
    </div>
  )
})

/** Model output as Markdown. Raw HTML is shown as text, never made. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => splitBlocks(text), [text])
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  )
})
