// Mastra's client, which gives every tool the name of its server in front. It answers questions of the modern era only.
import { MCPClient } from '@mastra/mcp'
import { run } from './steps.mjs'

await run(async (target, answer) => {
  const server = target.command ? { command: target.command, args: target.args, env: process.env } : { url: new URL(target.url) }
  if (target.era === 'legacy') server.protocolVersion = 'legacy'
  const mcp = new MCPClient({ id: 'x', servers: { th: { ...server, enableProgressTracking: true, inputRequests: async r => answer(r.params) } } })
  let report = () => {}
  await mcp.progress.onUpdate('th', p => report(p))
  const tools = await mcp.listTools()
  return {
    list: async () => Object.keys(tools),
    call: async (name, args, options = {}) => {
      const tool = tools['th_' + name]
      if (!tool) throw new Error(`no tool ${name}`)
      report = options.onprogress ?? (() => {})
      return tool.execute(args, { abortSignal: options.signal })
    },
    close: () => mcp.disconnect(),
  }
}, target => ({ unknown: 'it calls listed tools only' }))
