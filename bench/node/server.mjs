// The weather tool on the MCP TypeScript SDK 2 over stdio, validated by it.
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const server = new McpServer({ name: 'weather', version: '1' })
server.registerTool('weather', {
  description: 'The weather of a city.',
  inputSchema: z.object({
    location: z.string().min(1).describe('A city'),
    units: z.enum(['metric', 'imperial']).optional(),
    days: z.number().int().min(1).max(14).optional(),
  }),
  outputSchema: z.object({
    location: z.string(),
    temperature: z.number(),
    conditions: z.enum(['sunny', 'cloudy', 'rain']),
    humidity: z.number().min(0).max(100),
    days: z.number().int().optional(),
  }),
}, async ({ location, days }) => {
  const out = { location, temperature: 21.5, conditions: 'sunny', humidity: 40, days }
  return { content: [{ type: 'text', text: JSON.stringify(out) }], structuredContent: out }
})
await server.connect(new StdioServerTransport())
