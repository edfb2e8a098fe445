/**
 * The Worker of `src/worker/deploy.ts` with `/mcp`, to deploy in its place:
 * `npx wrangler deploy src/adapters/mcp/deploy.ts`. A bundle of its own, so that nobody else pays for it.
 */

import { createDeployment, offersCrossSessionSearch } from '../../worker/deployment.ts'
import { mcpRoutes } from './mcp-routes.ts'

export { SessionStore } from '../../worker/session-store.ts'

export default createDeployment(mcpRoutes({ crossSessionSearch: offersCrossSessionSearch() }))
