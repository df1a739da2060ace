// Vercel's client, which opens in the modern era.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as Stdio } from '@ai-sdk/mcp/mcp-stdio'
import { run } from './steps.mjs'

await run(async (target, answer) => {
  const client = await createMCPClient({
    transport: target.command
      ? new Stdio({ command: target.command, args: target.args, env: process.env })
      : { type: 'http', url: target.url },
    capabilities: { elicitation: {} },
  })
  client.onElicitationRequest(ElicitationRequestSchema, async r => answer(r.params))
  const tools = await client.tools()
  return {
    list: async () => Object.keys(tools),
    call: async (name, args, options = {}) => {
      const tool = tools[name]
      if (!tool) throw new Error(`no tool ${name}`)
      return tool.execute(args, { toolCallId: 'x', messages: [], abortSignal: options.signal })
    },
    close: () => client.close(),
  }
}, target => ({
  unknown: 'it calls listed tools only',
  progress: 'it has no reports of progress',
  ...(target.command && { cancel: 'over stdio it does not tell the server' }),
}))
