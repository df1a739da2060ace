// The TypeScript SDK 1: the installed base, legacy era only. With a bridge in the target it goes through mcp-remote.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { run } from './steps.mjs'

await run(async (target, answer) => {
  const client = new Client({ name: 'sdk1', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async r => answer(r.params))
  await client.connect(target.command
    ? new StdioClientTransport({ command: target.command, args: target.args, env: { ...process.env, ...target.env } })
    : new StreamableHTTPClientTransport(new URL(target.url)))
  return {
    list: async () => (await client.listTools()).tools.map(t => t.name),
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    close: () => client.close(),
  }
})
