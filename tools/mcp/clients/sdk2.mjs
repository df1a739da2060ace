// The TypeScript SDK 2: both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { run } from './steps.mjs'

await run(async (target, answer) => {
  const mode = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } }[target.era]
  const client = new Client({ name: 'sdk2', version: '1' }, { capabilities: { elicitation: {} }, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async r => answer(r.params))
  await client.connect(target.command
    ? new StdioClientTransport({ command: target.command, args: target.args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(target.url)))
  return {
    list: async () => (await client.listTools()).tools.map(t => t.name),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    close: () => client.close(),
  }
})
